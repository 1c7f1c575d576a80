package tool

import (
	"fmt"
	"strings"
	"unicode"
)

// nearest says why oldText wasn't found: what stands in the file that is most
// like it, and the first line that differs.
func (v *views) nearest(e textEdit) string {
	const telling = 12 // bytes of a text that is worth saying where else it stands
	s := "oldText was not found"
	if v.terse {
		return s
	}
	if strings.ContainsRune(e.old, '\ufffd') {
		s += " (it has \ufffd, which stands for bytes of the file that aren't text)"
	}
	if len(strings.TrimSpace(e.new)) >= telling {
		if at := positions(v.content, e.new); len(at) > 0 {
			return s + fmt.Sprintf("; newText stands in the file already, at line %s: was this edit made before?", v.lines(at))
		}
	}
	if len(v.content) > looseMost {
		return s + fmt.Sprintf("; in a file over %d bytes only exact matches are looked for", looseMost)
	}
	old := strings.Split(strings.TrimSuffix(unixEnds(e.old), "\n"), "\n")
	start, ok := v.closest(old)
	if !ok {
		return s + ", and nothing like it: read the file again"
	}
	return s + v.compare(old, start)
}

// closest returns the line of the file, from 0, at which a text like old
// would start. It may be before the file.
func (v *views) closest(old []string) (int, bool) {
	const (
		most   = 200     // lines of oldText looked at
		worth  = 20      // bytes up to which a longer line tells more
		tells  = 3       // bytes under which a line tells nothing: a lone bracket
		same   = 3       // equal lines of oldText looked at
		starts = 100_000 // candidates
	)
	where := map[string][]int{}
	longest, long := 0, ""
	for k, line := range old[:min(len(old), most)] {
		if q := squeeze(line); len(q) >= tells {
			if len(where[q]) < same {
				where[q] = append(where[q], k)
			}
			if len(q) > len(long) {
				longest, long = k, q
			}
		}
	}
	votes := map[int]int{}
	best, bestScore := 0, 0
	likest, likeness := 0, 0
	for n, q := range v.leanLines() {
		if n%4096 == 0 && !v.effort.spend(0) {
			break
		}
		for _, k := range where[q] {
			if _, known := votes[n-k]; !known && len(votes) >= starts {
				continue
			}
			votes[n-k] += min(len(q), worth)
			if votes[n-k] > bestScore {
				best, bestScore = n-k, votes[n-k]
			}
		}
		if l := alikeness(q, long); l > likeness {
			likest, likeness = n-longest, l
		}
	}
	if bestScore > 0 {
		return best, true
	}
	return likest, likeness >= 50
}

// leanLines returns the content's lines, squeezed.
func (v *views) leanLines() []string {
	if v.lean == nil {
		v.lean = make([]string, 0, strings.Count(v.content, "\n")+1)
		for line := range strings.Lines(v.content) {
			if len(v.lean)%4096 == 0 && !v.effort.spend(0) {
				break
			}
			v.lean = append(v.lean, squeeze(line))
		}
	}
	v.effort.spend(len(v.content))
	return v.lean
}

// squeeze drops the blanks of a line and the differences of looks.
func squeeze(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, looks(line))
}

// alikeness is how much of two lines is alike at their starts and ends, in
// percent.
func alikeness(a, b string) int {
	n := min(len(a), len(b))
	if n == 0 {
		return 0
	}
	head := 0
	for head < n && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return 100 * (head + tail) / max(len(a), len(b))
}

// compare says where the text at start first differs from old.
func (v *views) compare(old []string, start int) string {
	n := 0
	for line := range strings.Lines(v.content) {
		k := n - start
		n++
		if k < 0 || k >= len(old) {
			continue
		}
		line = strings.TrimRight(line, "\r\n")
		a, b := strings.TrimRight(looks(line), " \t"), strings.TrimRight(looks(old[k]), " \t")
		if a == b { // not what keeps oldText from being found
			continue
		}
		if k == 0 && strings.HasSuffix(line, old[k]) || k == len(old)-1 && strings.HasPrefix(line, old[k]) {
			continue // oldText may begin and end within a line
		}
		return fmt.Sprintf("; the nearest text begins at line %d. Line %d of the file is %s, line %d of oldText is %s%s",
			max(start, 0)+1, n, excerpt(line), k+1, excerpt(old[k]), how(line, old[k]))
	}
	if start+len(old) > n {
		return fmt.Sprintf("; the nearest text begins at line %d, but the file ends before oldText does", max(start, 0)+1)
	}
	return fmt.Sprintf("; the nearest text begins at line %d", max(start, 0)+1)
}

// excerpt quotes a line, shortened.
func excerpt(line string) string {
	const most = 160
	cut := ""
	if len(line) > most {
		line, cut = strings.ToValidUTF8(line[:most], ""), "…"
	}
	return fmt.Sprintf("%q", line) + cut
}

// how says in what two lines differ, if that is hard to see.
func how(file, old string) string {
	switch {
	case strings.TrimLeft(file, " \t") == strings.TrimLeft(old, " \t"):
		return " (the indentation differs)"
	case squeeze(file) == squeeze(old):
		return " (blanks differ)"
	case strings.EqualFold(file, old):
		return " (upper and lower case differ)"
	}
	return ""
}
