package runs

import (
	"fmt"
	"iter"
	"runtime/debug"
)

// process is a coroutine: a worker or a session's actor.
type process struct {
	name  string
	next  func() (string, bool)
	stop  func()
	sleep int64 // it isn't scheduled before
	at    string
}

// killed unwinds a coroutine whose host was killed.
type killed struct{}

// pause is what a coroutine calls where it can be killed or left alone.
type pause func(point string)

// spawn makes a coroutine. It begins at its first schedule.
func spawn(name string, body func(pause)) *process {
	p := &process{name: name}
	p.next, p.stop = iter.Pull(func(yield func(string) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(fmt.Sprintf("%s: %v\n%s", name, r, debug.Stack())) // the place would be lost
				}
			}
		}()
		body(func(point string) {
			if !yield(point) {
				panic(killed{})
			}
		})
	})
	return p
}

// step runs the coroutine to its next pause; false: it has ended.
func (p *process) step() bool {
	at, ok := p.next()
	p.at = at
	return ok
}
