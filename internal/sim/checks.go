package sim

import (
	"bytes"
	"reflect"

	"github.com/gamma-harness/gamma/internal/session"
	"github.com/gamma-harness/gamma/internal/transcript"
)

// level: what runs is what is due, and a run that may go on has something due
// or waits for a person.
func (w *world) level() {
	s := w.actor.State
	due := session.Due(s, w.environment())
	if s.Run != nil && !s.Interrupted() && s.Why != transcript.OpenDeposit && len(due) == 0 && len(s.Asks()) == 0 {
		w.violated("life: run %s goes on and nothing is due", s.Run.ID)
	}
	wanted := map[string]bool{}
	for _, d := range due {
		wanted[d.Key] = true
	}
	for _, e := range w.effects {
		if !e.cancelled && !wanted[e.Key] {
			w.violated("level: %s runs and isn't due", e.Key)
		}
		if !e.cancelled {
			delete(wanted, e.Key)
		}
	}
	for _, d := range due {
		if wanted[d.Key] {
			w.violated("level: %s is due and doesn't run", d.Key)
		}
	}
}

// sample checks equality, rest and prefix for the newest commit, which
// follows seq before.
func (w *world) sample(before int) {
	w.totals.Samples++
	entries, err := w.disk.read(w.disk.own)
	if err != nil {
		w.violated("equality: %w", err)
	}
	folded, err := session.Fold(entries)
	if err != nil {
		w.violated("equality: %w", err)
	}
	if path := differ(reflect.ValueOf(w.actor.State).Elem(), reflect.ValueOf(folded).Elem(), "state"); path != "" {
		w.violated("equality: the live state isn't the fold of the log: %s", path)
	}
	env := w.environment()
	if c := session.Decide(folded, session.Wake{}, env); len(c.Entries) > 0 {
		w.violated("rest: a planned state plans %s", c.Entries[0].Kind())
	}
	if len(entries)-before < 2 {
		return
	}
	cut := before + 1 + w.rng.IntN(len(entries)-before-1)
	state, err := session.Fold(entries[:cut])
	if err != nil {
		w.violated("prefix: %w", err)
	}
	w.totals.Cuts++
	rest := session.Decide(state, session.Wake{}, env)
	if got, want := encoded(rest.Entries), encoded(entries[cut:]); !bytes.Equal(got, want) {
		w.violated("prefix: cut behind %s, the rest is\n%sand was\n%s", entries[cut-1].ID, got, want)
	}
}

func encoded(entries []transcript.Entry) []byte {
	var out []byte
	for _, e := range entries {
		line, err := transcript.Encode(e)
		if err != nil {
			return []byte(err.Error())
		}
		out = append(out, line...)
	}
	return out
}

// differ returns the path to the first difference of two values, or "". Empty
// and missing lists and maps are the same.
func differ(a, b reflect.Value, path string) string {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return unless(a.IsNil() == b.IsNil(), path)
		}
		if a.Pointer() == b.Pointer() {
			return ""
		}
		return differ(a.Elem(), b.Elem(), path)
	case reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return unless(a.IsNil() && b.IsNil(), path)
		}
		return differ(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		for i := range a.NumField() {
			if d := differ(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice, reflect.Array:
		return differLists(a, b, path)
	case reflect.Map:
		if a.Len() != b.Len() {
			return path
		}
		for it := a.MapRange(); it.Next(); {
			v := b.MapIndex(it.Key())
			if !v.IsValid() || differ(it.Value(), v, path) != "" {
				return path + "[" + it.Key().String() + "]"
			}
		}
		return ""
	}
	return unless(a.Equal(b), path)
}

func differLists(a, b reflect.Value, path string) string {
	if a.Len() != b.Len() {
		return path
	}
	if a.Len() > 0 && a.Type().Elem().Kind() == reflect.Uint8 && a.Kind() == reflect.Slice {
		return unless(bytes.Equal(a.Bytes(), b.Bytes()), path)
	}
	for i := range a.Len() {
		if d := differ(a.Index(i), b.Index(i), path+"[]"); d != "" {
			return d
		}
	}
	return ""
}

func unless(same bool, path string) string {
	if same {
		return ""
	}
	return path
}
