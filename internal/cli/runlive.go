package cli

import (
	"io"
	"strings"
	"time"
)

// frame is how often the lines of what goes on are drawn.
const frame = 100 * time.Millisecond

// bottom is the lines at the bottom of a terminal that are drawn again and
// again.
type bottom struct {
	w     io.Writer
	drawn []string // without colours, for their width
}

// replace takes the block back, prints the lines that stay, and draws the block
// again below them; nil: there is none.
func (b *bottom) replace(width int, stay, lines []string) {
	var out strings.Builder
	out.WriteString(b.erasing(width))
	for _, l := range stay {
		out.WriteString(l + "\n")
	}
	out.WriteString(strings.Join(lines, "\n"))
	b.drawn = lines
	if out.Len() > 0 {
		io.WriteString(b.w, out.String()) // a terminal that is gone ends the process by its signal
	}
}

// erasing takes the block back. A terminal that has become narrower has broken
// its lines.
func (b *bottom) erasing(width int) string {
	if len(b.drawn) == 0 {
		return ""
	}
	rows := 0
	for _, l := range b.drawn {
		rows += max(1, (cells(uncoloured(l))+width-1)/max(width, 1))
	}
	up := ""
	if rows > 1 {
		up = strings.Repeat("\x1b[A", rows-1)
	}
	return "\r" + up + "\x1b[J"
}

// uncoloured is a line of ours without its colours.
func uncoloured(s string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

// live draws what goes on until the function that it returns is called. stop
// says how to stop.
func (p *runPrinter) live(stop string) func() {
	if p.view == nil {
		return func() {}
	}
	p.mu.Lock()
	p.view.note, p.drawing = stop, true
	p.mu.Unlock()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(frame)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				p.mu.Lock()
				p.put(nil)
				p.mu.Unlock()
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		p.still()
	}
}

// still takes away what is drawn, until begins again.
func (p *runPrinter) still() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawing = false
	p.put(nil)
}

// again draws what goes on again.
func (p *runPrinter) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawing, p.prompt = p.view != nil, false
}

// says puts another text in the place of how to stop.
func (p *runPrinter) says(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view == nil {
		return
	}
	p.view.note = text
	p.put(nil)
}

// put prints lines that stay, above those of what goes on. p.mu is held.
func (p *runPrinter) put(stay []string) {
	if p.view == nil {
		for _, l := range stay {
			io.WriteString(p.stderr, l+"\n")
		}
		return
	}
	width, height := sizeOf(p.stderr)
	var now []string
	if p.drawing {
		now = p.view.now(time.Now(), width-1, height)
	}
	p.block.replace(width, stay, now)
}
