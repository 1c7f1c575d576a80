package host

// CallersOf is how many callers share the step of an attempt.
func CallersOf(x *Steps, attempt string) int {
	x.mu.Lock()
	f := x.attempts[attempt]
	x.mu.Unlock()
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.callers.waiting)
}
