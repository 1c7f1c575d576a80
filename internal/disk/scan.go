package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gamma-harness/gamma/internal/transcript"
)

// The doctor's own reading of a transcript: every line of every segment,
// whatever the lines before it are like.

// scan is what the segments hold, line by line.
type scan struct {
	dir     directory
	files   []*scanned // by token
	highest int
	base    *transcript.Repair // the newest repair, if it can be relied on
	baseAt  int                // its token
	faults  []Fault
	hidden  int   // token of the newest segment with something else in its place; 0: none
	plan    *plan // what salvage found, see salvage.go
}

// scanned is one segment file.
type scanned struct {
	token   int
	path    string
	data    []byte
	limit   int64              // what counts of data
	sealed  bool               // limit and hash are as its successor sealed them
	unended bool               // what was sealed is one byte longer: the "\n" of its last line
	mended  *transcript.Mended // a repair describes the file and it is still like that
	late    int64              // entries behind this byte …
	taken   int                // … that have this number or a higher one came after another owner took over; 0: not known
	newest  bool               // nothing that counts stands in a later file
	records []*found
}

// found is a line.
type found struct {
	file   *scanned
	line   int
	offset int64
	text   []byte // with "\n", if it has one
	entry  transcript.Entry
	bad    string // why it is no entry of this segment; "" if it is one
	skip   string // why an entry doesn't count
	moved  bool   // it counts, at another place than where it stands
}

func (r *found) ok() bool { return r.bad == "" && r.skip == "" }

// scan reads all segments. It returns a *NewerError if a newer gamma has
// written here.
func (d directory) scan() (*scan, error) {
	tokens, highest, err := d.tokens()
	if err != nil && !errors.As(err, new(*DamageError)) { // what isn't a directory holds no segment
		return nil, err
	}
	slices.Sort(tokens)
	s := &scan{dir: d, highest: highest}
	for _, t := range tokens {
		f := &scanned{token: t, path: d.segment(t)}
		if k := (*kindError)(nil); errors.As(checkKind(f.path, false), &k) {
			s.fault(Fault{Kind: MissingSegment, File: f.path, Reason: k.Error()})
			if s.wasSegment(f.path, t) {
				s.hidden = t
			}
			continue
		}
		if f.data, err = readRegular(f.path); err != nil {
			return nil, failed(d.id, "read", f.path, err)
		}
		f.limit = int64(len(f.data))
		s.files = append(s.files, f)
	}
	s.findBase()
	s.limits()
	s.dropVoid()
	for _, f := range s.files {
		if err := s.lines(f); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// wasSegment reports whether something shows that a segment stood at path,
// where something else stands now: a link leads to one, or a copy of a part of
// it is there. Else nothing was ever in it.
func (s *scan) wasSegment(path string, token int) bool {
	head, err := readHead(path, openMax)
	if err == nil && (&scanned{token: token, data: head}).openOf() != nil {
		return true
	}
	des, err := s.dir.listing()
	begin := strings.TrimSuffix(filepath.Base(path), segmentExt)
	return err == nil && slices.ContainsFunc(des, func(de fs.DirEntry) bool {
		return strings.HasPrefix(de.Name(), begin+fragmentExt) || de.Name() == begin+lostExt
	})
}

// ours reports whether anything in the file looks like a part of a segment: an
// id or a kind in a line, or the NULs that a power loss leaves.
func (f *scanned) ours() bool {
	return bytes.IndexByte(f.data, 0) >= 0 || slices.ContainsFunc(f.records, func(r *found) bool {
		id, kind := r.hint()
		return r.ok() || kind != "" || !id.IsZero()
	})
}

func (s *scan) fault(f Fault) { s.faults = append(s.faults, f) }

// openOf returns the open entry in a file's first line, or nil.
func (f *scanned) openOf() *transcript.Open {
	line, _, ended := bytes.Cut(f.data, []byte("\n"))
	e, err := transcript.Decode(line)
	open, ok := e.Body.(*transcript.Open)
	if !ended || err != nil || !ok || open.Segment != f.token || e.ID.Epoch != f.token {
		return nil
	}
	if open.Repair != nil && checkRepair(open) != nil {
		return nil
	}
	return open
}

// findBase finds the newest repair, if it and everything that it names is as
// it was. Files before it that it doesn't list don't count then, and what it
// skips is known. Else all files are judged anew, as if there were none.
func (s *scan) findBase() {
	for _, f := range slices.Backward(s.files) {
		open := f.openOf()
		if open == nil || open.Repair == nil {
			continue
		}
		if s.trusts(f, open.Repair) {
			s.base, s.baseAt = open.Repair, f.token
		}
		break
	}
	if s.base == nil {
		return
	}
	listed := map[int]*transcript.Mended{}
	for i := range s.base.Segments {
		m := &s.base.Segments[i]
		listed[m.Token] = m
	}
	s.files = slices.DeleteFunc(s.files, func(f *scanned) bool { return f.token < s.baseAt && listed[f.token] == nil })
	for _, f := range s.files {
		if m := listed[f.token]; m != nil {
			f.mended, f.limit, f.sealed = m, m.Length, true
		}
	}
}

// trusts reports whether a repair and all that it names is unchanged.
func (s *scan) trusts(f *scanned, r *transcript.Repair) bool {
	for _, g := range s.files {
		if open := g.openOf(); g.token > f.token && open != nil && open.Prev != nil && open.Prev.Token == f.token && !f.holds(open.Prev) {
			return false
		}
	}
	for _, m := range r.Segments {
		i := slices.IndexFunc(s.files, func(g *scanned) bool { return g.token == m.Token })
		if i < 0 || !s.files[i].holds(&m.Sealed) {
			return false
		}
	}
	return true
}

// holds reports whether the file begins with the sealed bytes.
func (f *scanned) holds(seal *transcript.Sealed) bool {
	return seal.Length > 0 && seal.Length <= int64(len(f.data)) && hashOf(f.data[:seal.Length]) == seal.SHA256
}

func (s *scan) missing(token, by int) {
	path := s.dir.segment(token)
	if slices.ContainsFunc(s.faults, func(f Fault) bool { return f.File == path }) {
		return
	}
	s.fault(Fault{Kind: MissingSegment, File: path, Reason: fmt.Sprintf("the file is missing; segment %d continues it", by)})
}

// limits applies the seals of the segments behind the newest repair.
func (s *scan) limits() {
	for _, f := range s.files {
		open := f.openOf()
		if open != nil && open.Repair != nil {
			s.counted(open.Repair)
		}
		if f.token <= s.baseAt || open == nil || open.Prev == nil || open.Prev.Token >= f.token || open.Prev.Token < s.baseAt {
			continue
		}
		i := slices.IndexFunc(s.files, func(g *scanned) bool { return g.token == open.Prev.Token })
		if i < 0 {
			s.missing(open.Prev.Token, f.token)
			continue
		}
		s.seal(s.files[i], open.Prev)
		s.files[i].late, s.files[i].taken = open.Prev.Length, f.firstSeq()
	}
}

// counted finds the segments whose last line an earlier repair has taken
// without its "\n".
func (s *scan) counted(r *transcript.Repair) {
	for _, m := range r.Segments {
		for _, f := range s.files {
			if size := int64(len(f.data)); f.token == m.Token && m.Length == size && f.holds(&m.Sealed) && f.data[size-1] != '\n' {
				f.unended = true
			}
		}
	}
}

// firstSeq is the number of the entry in the first line.
func (f *scanned) firstSeq() int {
	e, err := transcript.Decode(lineAt(f.data, 0, nil).text)
	if err != nil {
		return 0
	}
	return e.ID.Seq
}

// seal limits a file to what its successor sealed, if its bytes are those.
func (s *scan) seal(f *scanned, seal *transcript.Sealed) {
	size := int64(len(f.data))
	if f.holds(seal) {
		f.limit, f.sealed = seal.Length, true
	}
	f.unended = f.unended || seal.Length == size+1 && !bytes.HasSuffix(f.data, []byte("\n"))
	if seal.Length == size+1 && hashOf(append(f.data[:size:size], '\n')) == seal.SHA256 {
		f.sealed = true
	}
	switch {
	case f.unended && f.sealed && seal.Length > size:
		s.fault(Fault{Kind: SealMismatch, File: f.path, Offset: size, Length: 1, Reason: "the line feed behind its last line is missing; all else is as it was sealed, and the line counts"})
	case f.sealed:
	case seal.Length > size:
		s.fault(Fault{Kind: SealMismatch, File: f.path, Offset: size, Length: seal.Length - size, Reason: fmt.Sprintf("the file has %d bytes; %d were sealed", size, seal.Length)})
	default:
		s.fault(Fault{Kind: SealMismatch, File: f.path, Reason: "its bytes differ from those that were sealed; if none of its lines is named, one of them was changed and still reads well"})
	}
}

// dropVoid leaves out segments whose owner was stopped at once.
func (s *scan) dropVoid() {
	s.files = slices.DeleteFunc(s.files, func(f *scanned) bool {
		if f.openOf() != nil || int64(len(f.data)) > openingMax(f.token) || f.mended != nil {
			return false
		}
		_, err := transcript.Decode(lineAt(f.data, 0, nil).text)
		return err != nil && lineAt(f.data, 0, err).torn()
	})
	if len(s.files) > 0 {
		s.files[len(s.files)-1].newest = true
	}
}

// lines splits what counts of a file into records and judges each by itself.
func (s *scan) lines(f *scanned) error {
	at, n := int64(0), 0
	whole := int64(-1)
	if f.newest {
		whole = lastRecord(f.data)
	}
	for at < f.limit {
		end := f.limit
		if i := bytes.IndexByte(f.data[at:f.limit], '\n'); i >= 0 {
			end = at + int64(i) + 1
		}
		n++
		r := &found{file: f, line: n, offset: at, text: f.data[at:end]}
		if f.mended != nil {
			if k := slices.IndexFunc(f.mended.Skip, func(k transcript.Skip) bool { return at >= k.Offset && at < k.Offset+k.Length }); k >= 0 {
				at = end
				continue // found and told by an earlier repair
			}
		}
		at = end
		if err := s.judge(r); err != nil {
			return err
		}
		f.records = append(f.records, r)
		if r.bad != "" && f.newest && whole < r.offset {
			s.torn(f, r)
			return nil
		}
		if r.bad != "" {
			s.fault(r.fault(kindOf(r.text), r.bad))
		}
	}
	return nil
}

// lastRecord returns where the last line begins that is a whole JSON object,
// or -1.
func lastRecord(data []byte) int64 {
	end := bytes.LastIndexByte(data, '\n')
	for end >= 0 {
		begin := bytes.LastIndexByte(data[:end], '\n') + 1
		if isRecord(data[begin:end]) {
			return int64(begin)
		}
		end = begin - 1
	}
	return -1
}

// torn takes the rest of the newest file for a write that was cut short.
func (s *scan) torn(f *scanned, r *found) {
	f.records = f.records[:len(f.records)-1]
	f.limit = r.offset
	fault := r.fault(TornTail, "the last write was cut short; it was never acknowledged")
	fault.Length = int64(len(f.data)) - r.offset
	if n := bytes.Count(f.data[r.offset:], []byte{0}); n > 0 {
		fault.Reason += fmt.Sprintf(" (%d of its bytes are NUL)", n)
	}
	s.fault(fault)
}

// judge decodes a line.
func (s *scan) judge(r *found) error {
	line := bytes.TrimSuffix(r.text, []byte("\n"))
	var err error
	r.entry, err = transcript.Decode(line)
	open, isOpen := r.entry.Body.(*transcript.Open)
	h, isHeader := r.entry.Body.(*transcript.Session)
	switch {
	case err == nil && len(line) == len(r.text) && !r.file.unended:
		r.bad = errCut.Error()
	case err == nil && r.entry.ID.Epoch != r.file.token:
		r.bad = fmt.Sprintf("entry %s (%s) stands in segment %d", r.entry.ID, r.entry.Kind(), r.file.token)
	case err == nil && isOpen && (r.line > 1 || r.file.openOf() == nil):
		r.bad = "it isn't the open entry of this segment"
		if open.Repair != nil && r.line == 1 {
			r.bad = "its repair isn't as it was written"
		}
	case err == nil && isHeader && h.Session != s.dir.id:
		r.bad = "it is the header of session " + h.Session
	case err == nil && isHeader && r.entry.ID.Seq != 2 && r.line != 2:
		r.bad = "it is a second session header"
	case err != nil:
		r.bad = err.Error()
		if n := bytes.Count(line, []byte{0}); n > 0 {
			r.bad = fmt.Sprintf("%d NUL bytes from byte %d on", n, r.offset+int64(bytes.IndexByte(line, 0)))
		}
		if !r.file.damaged(s) {
			return s.dir.newer(r.file.path, &badLine{number: r.line, text: line, ended: len(line) < len(r.text) || r.file.unended})
		}
	}
	return nil
}

// damaged reports whether the file isn't what its successor sealed, so that a
// number in it says nothing about who wrote it.
func (f *scanned) damaged(s *scan) bool {
	return !f.sealed && slices.ContainsFunc(s.faults, func(x Fault) bool { return x.Kind == SealMismatch && x.File == f.path })
}

// kindOf names what is wrong with a line that is no entry.
func kindOf(text []byte) FaultKind {
	e, err := transcript.Decode(bytes.TrimSuffix(text, []byte("\n")))
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return NULs
	case err == nil && !e.ID.IsZero():
		return WrongEpoch
	}
	return BadLine
}

// fault describes what is wrong with a record.
func (r *found) fault(kind FaultKind, reason string) Fault {
	f := Fault{Kind: kind, File: r.file.path, Line: r.line, Offset: r.offset, Length: int64(len(r.text)), Reason: reason}
	f.Entry, f.Record = r.hint()
	return f
}

// hint says which entry a line is, or seems to be. A damaged line can lie.
func (r *found) hint() (transcript.ID, transcript.Kind) {
	if r.bad == "" {
		return r.entry.ID, r.entry.Kind()
	}
	id := submatch(`"id":"([0-9]+-[0-9]+)"`, r.text)
	parsed, err := transcript.ParseID(id)
	if err != nil {
		parsed = transcript.ID{}
	}
	return parsed, transcript.Kind(submatch(`"kind":"([a-z_]+)"`, r.text))
}

func submatch(re string, text []byte) string {
	if len(text) > openMax {
		text = text[:openMax] // id and kind stand at the beginning
	}
	if m := regexp.MustCompile(re).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// strangers names files in transcript/ that are none of ours.
func (d directory) strangers() ([]Fault, error) {
	des, err := d.listing()
	if damage := (*DamageError)(nil); errors.As(err, &damage) {
		return nil, nil // told as misplaced
	}
	if err != nil {
		return nil, err
	}
	own := regexp.MustCompile(`^([0-9]{6,15})(\.jsonl|\.torn(\.[0-9]+)?|\.lost)$`)
	var out []Fault
	for _, de := range des {
		m := own.FindStringSubmatch(de.Name())
		if m != nil && de.Type().IsRegular() {
			if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && fmt.Sprintf("%06d", n) == m[1] {
				continue
			}
		}
		if m != nil && m[2] == segmentExt && !de.Type().IsRegular() {
			continue // told as a missing segment
		}
		out = append(out, Fault{Kind: Foreign, File: filepath.Join(d.transcript(), de.Name()), Note: true, Reason: "it is no part of the transcript and is passed over"})
	}
	return out, nil
}
