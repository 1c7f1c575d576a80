package provider

// odd is an object that an answer doesn't depend on. Anything else in its
// place reads as missing and sets bad, so that servers which send a text, a
// list or nonsense there lose only what it would have told.
type odd[T any] struct {
	v   T
	bad bool
}

// UnmarshalJSON takes any JSON value.
func (o *odd[T]) UnmarshalJSON(b []byte) error {
	*o = odd[T]{}
	if string(b) == "null" {
		return nil
	}
	if err := readJSON(b, &o.v); err != nil {
		*o = odd[T]{bad: true}
	}
	return nil
}

// usageIn and usageOut are the details that both dialects tell of usage.
type usageIn struct {
	Cached  count `json:"cached_tokens"`
	Written count `json:"cache_write_tokens"`
}

type usageOut struct {
	Reasoning count `json:"reasoning_tokens"`
}

// usageNotes says so if usage couldn't be read.
func usageNotes(bad bool) []string {
	if !bad {
		return nil
	}
	return []string{"the provider told the usage in a form that can't be read; it isn't counted"}
}
