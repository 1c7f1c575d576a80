package disk

import (
	"path/filepath"
	"strings"
)

// Lost is the copy of what a repair skips.
type Lost struct {
	File string // path
	Text string // lines that begin with "# " say where the lines behind them stood
}

// Lost returns the copies of what the session's repairs skip, oldest first,
// for people to read: none of it counts.
func (h *Home) Lost(id string) ([]Lost, error) {
	d, err := h.directory(id)
	if err != nil {
		return nil, err
	}
	des, err := d.listing()
	if err != nil {
		return nil, err
	}
	var out []Lost
	for _, de := range des {
		if !strings.HasSuffix(de.Name(), lostExt) || !de.Type().IsRegular() {
			continue
		}
		path := filepath.Join(d.transcript(), de.Name())
		data, err := readRegular(path)
		if err != nil {
			return out, failed(id, "read", path, err)
		}
		out = append(out, Lost{path, string(data)})
	}
	return out, nil
}
