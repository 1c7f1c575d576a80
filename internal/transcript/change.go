package transcript

// FileState says how a file was before a call changed it.
type FileState struct {
	Path   string `json:"path"`             // in the workspace, with slashes
	Before string `json:"before,omitempty"` // blob of the content; "": there was no file
	After  string `json:"after"`            // SHA-256 (hex) of the content that the call wrote
	Lost   string `json:"lost,omitempty"`   // why the content before wasn't kept
}

// ModelChange says that another model answers from here on.
type ModelChange struct {
	From  string `json:"from"`  // PROVIDER/NAME
	Model string `json:"model"` //
	// Maker is whose own items the new model takes (llm.Part.Maker); Dropped
	// counts the parts of the context that it doesn't take, such as another
	// model's reasoning.
	Maker   string `json:"maker,omitempty"`
	Dropped int    `json:"dropped,omitempty"`
}
