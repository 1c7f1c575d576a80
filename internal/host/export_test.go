package host

// Callers is how many callers share the step of an attempt.
func Callers(x *Steps, attempt string) int {
	x.mu.Lock()
	f := x.flights[attempt]
	x.mu.Unlock()
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.riders.aboard)
}
