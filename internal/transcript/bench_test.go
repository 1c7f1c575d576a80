package transcript

import "testing"

func BenchmarkE25_Decode(b *testing.B) {
	var lines [][]byte
	n := 0
	for _, e := range sample() {
		l, _ := Encode(e)
		lines = append(lines, l)
		n += len(l)
	}
	b.SetBytes(int64(n))
	for b.Loop() {
		for _, l := range lines {
			if _, err := Decode(l); err != nil {
				b.Fatal(err)
			}
		}
	}
}
