package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// contract is what every driver of Store does. A new driver calls it from a
// test of its own.
func contract(t *testing.T, open func(t *testing.T) Store) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, k *kit)
	}{
		{"W13 a claim excludes others until its lease has run out", claimExcludes},
		{"W13 who may claim is a column", claimBy},
		{"W10 a commit needs the token and the seq", commitFenced},
		{"W10 a visit needs that nobody has a live claim", visitFenced},
		{"W14 time without a claim is known over visits", visitClock},
		{"W10 the session's token fences an answer", sessionFenced},
		{"W12 the projection is the fold of the events", projectionIsFold},
		{"W12 cost of a commit: one event row and its own rows", rowsOfACommit},
		{"W38 a session has one slot", oneSlot},
		{"W38 who keeps the slot", slotKept},
		{"W38 an answered run waits for the slot", answeredWaits},
		{"W38 a claim that came to nothing keeps no slot", slotOfALostClaim},
		{"W38 runs of a session go in order", inOrder},
		{"W40 runs that are left out aren't claimed", leftOut},
		{"W17 the outbox is written with the commit and delivered once", outboxOnce},
		{"W41 an event with a key is taken once", keyed},
		{"W41 runs are selected by their session", selected},
		{"W20 a presentation's row knows what came after it", presented},
		{"W18 the decision has one winner", oneWinner},
		{"W10 a signal is consumed with its commit", signals},
		{"W14 timers are found by their time", timers},
		{"W13 claims of a dead holder are ended", deadHolder},
		{"D3 writes at once each get their own outcome", manyAtOnce},
		{"W12 an ended run can be removed", removed},
		{"W12 what isn't there is not found", notFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			c.run(t, &kit{t: t, Store: s, ctx: t.Context(), now: 1_000_000, graphs: graphs(t)})
		})
	}
}

func claimExcludes(t *testing.T, k *kit) {
	k.start("r", "steps", "")
	first := k.claim("", "h1")
	if first == nil || first.Token != 1 || first.LeaseWas != 0 {
		t.Fatalf("got %+v", first)
	}
	if c := k.claim("", "h2"); c != nil {
		t.Errorf("a second claim: %+v", c)
	}
	k.now += 29_999
	if err := k.Renew(k.ctx, "r", 1, k.now, k.now+30_000); err != nil {
		t.Errorf("renewal: %v", err)
	}
	k.now += 29_999
	if c := k.claim("r", "h2"); c != nil {
		t.Errorf("a claim of what was renewed: %+v", c)
	}
	k.now++
	k.fenced("renewal of what has run out", k.Renew(k.ctx, "r", 1, k.now, k.now+30_000))
	second := k.claim("r", "h2")
	if second == nil || second.Token != 2 || second.LeaseWas != k.now || !second.Lost {
		t.Fatalf("got %+v", second)
	}
	k.fenced("renewal of what was lost", k.Renew(k.ctx, "r", 1, k.now, k.now+30_000))
	if err := k.Release(k.ctx, "r", 1, k.now); err != nil {
		t.Error(err)
	}
	if c := k.claim("r", "h3"); c != nil {
		t.Error("a lost claim was given back, and with it the new one")
	}
	if err := k.Release(k.ctx, "r", 2, k.now); err != nil {
		t.Error(err)
	}
	given := k.now
	k.now += 500
	c := k.claim("r", "h3")
	if c == nil || c.LeaseWas != given || c.Lost {
		t.Errorf("after the release: %+v", c)
	}
	k.now += 40_000 // given back when it had run out, and nobody took it
	if err := k.Release(k.ctx, "r", c.Token, k.now); err != nil {
		t.Error(err)
	}
	if c := k.claim("r", "h4"); c == nil || c.LeaseWas != k.now-10_000 || c.Lost {
		t.Errorf("after the late release: %+v", c)
	}
}

// visitClock: a visit doesn't hide since when nobody works on a running attempt.
func visitClock(t *testing.T, k *kit) {
	k.start("r", "steps", "")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	lost := k.now + 30_000
	k.now += 50_000
	k.do("r", flow.Pause{By: "me"}, 0)
	k.now += 50_000
	if c = k.claim("r", "h2"); c == nil || c.LeaseWas != lost || !c.Lost {
		t.Errorf("lost, and visited: %+v, want %d", c, lost)
	}
	k.do("r", flow.Park{For: flow.ForOperator}, c.Token)
	k.now += 50_000
	resumed := k.now
	k.do("r", flow.Resume{By: "me"}, 0)
	k.now += 50_000
	if c = k.claim("r", "h3"); c == nil || c.LeaseWas != resumed || c.Lost {
		t.Errorf("resumed: %+v, want %d", c, resumed)
	}
}

func claimBy(t *testing.T, k *kit) {
	k.start("r1", "say", "S")
	k.start("r2", "steps", "")
	c := k.claim("", "h1")
	if c == nil || c.Run != "r1" {
		t.Fatalf("the oldest isn't first: %+v", c)
	}
	k.do("r1", started(), c.Token) // parked for its session
	if c := k.claim("r1", "h1"); c != nil {
		t.Errorf("a host without the session: %+v", c)
	}
	if c := k.claim("r1", "h1", "T"); c != nil {
		t.Errorf("a host with another session: %+v", c)
	}
	if c := k.claim("", "h1", "S"); c == nil || c.Run != "r1" {
		t.Errorf("the host with the session: %+v", c)
	}
	c = k.claim("", "h1")
	k.do("r2", flow.Cancel{By: "me"}, c.Token)
	if c := k.claim("r2", "h1"); c != nil {
		t.Errorf("an ended run: %+v", c)
	}
}

func commitFenced(t *testing.T, k *kit) {
	k.start("r", "steps", "")
	c := k.claim("", "h1")
	late := k.write("r", started(), c.Token, false)
	k.do("r", started(), c.Token)
	k.fenced("a commit on an old seq", k.Commit(k.ctx, late))
	k.now += 30_001
	w := k.write("r", k.finish("r", `{}`), c.Token, false)
	if err := k.Commit(k.ctx, w); err != nil {
		t.Errorf("a claim that has run out and that nobody took: %v", err)
	}
	k.now += 30_001
	zombie := k.write("r", k.finish("r", `{"passed":true}`), c.Token, false)
	if c := k.claim("r", "h2"); c == nil {
		t.Fatal("no claim")
	}
	k.fenced("a commit of a lost claim", k.Commit(k.ctx, zombie))
	r, i, _ := k.load("r")
	if r.Seq != 3 || i.Holder != "h2" {
		t.Errorf("the run is at %d, held by %s", r.Seq, i.Holder)
	}
	if log, err := k.Log(k.ctx, "r", 0, 0); err != nil || len(log) != 3 {
		t.Errorf("%d events, %v", len(log), err)
	}
}

func visitFenced(t *testing.T, k *kit) {
	k.start("r", "steps", "")
	w := k.write("r", flow.Pause{By: "me"}, 0, false)
	c := k.claim("", "h1")
	k.fenced("a visit while somebody holds the run", k.Commit(k.ctx, w))
	if err := k.Release(k.ctx, "r", c.Token, k.now); err != nil {
		t.Fatal(err)
	}
	if err := k.Commit(k.ctx, w); err != nil {
		t.Errorf("a visit: %v", err)
	}
	k.fenced("the same visit again", k.Commit(k.ctx, w))
	k.fenced("a commit under the claim before the visit", k.Commit(k.ctx, Write{Graph: w.Graph, Before: w.Commit.Next, Commit: w.Commit, Token: c.Token, Now: k.now}))
}

func sessionFenced(t *testing.T, k *kit) {
	k.start("r", "say", "S")
	c := k.claim("", "h1", "S")
	step := func(ev flow.Event) Write { return k.write("r", ev, c.Token, true) }
	for _, ev := range []flow.Event{started(), flow.Prepared{Attempt: "r/say#1"}} {
		if err := k.Commit(k.ctx, step(ev)); err != nil {
			t.Fatal(err)
		}
	}
	for _, own := range []int64{7, 7, 8} {
		if err := k.Own(k.ctx, "S", own); err != nil {
			t.Errorf("token %d: %v", own, err)
		}
	}
	k.fenced("an older owner", k.Own(k.ctx, "S", 7))
	for session, want := range map[string]int64{"S": 8, "nobody's": 0} {
		if got, err := k.Owned(k.ctx, session); err != nil || got != want {
			t.Errorf("the token of %s: %d, %v", session, got, err)
		}
	}
	done := flow.StepDone{Attempt: "r/say#1", Outcome: flow.StepOutcome{Stop: "ok", Text: "hello", SessionToken: 7}}
	k.fenced("an answer under the session's old token", k.Commit(k.ctx, step(done)))
	done.Outcome.SessionToken = 8
	if err := k.Commit(k.ctx, step(done)); err != nil {
		t.Errorf("an answer under the session's token: %v", err)
	}
	log, err := k.Log(k.ctx, "r", 3, 1)
	if err != nil || len(log) != 1 || string(log[0].Output) != `"hello"` || len(log[0].Receipt) == 0 {
		t.Errorf("got %+v, %v", log, err)
	}
}

func projectionIsFold(t *testing.T, k *kit) {
	k.start("r", "steps", "S")
	k.equal("r")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	k.equal("r")
	k.do("r", k.finish("r", `{"passed":true}`), c.Token)
	k.do("r", flow.Pause{By: "me"}, c.Token)
	k.equal("r")
	k.do("r", k.finish("r", `{}`), c.Token) // paused before n
	k.equal("r")
	k.do("r", flow.Resume{By: "me"}, 0)
	k.equal("r")
	c = k.claim("r", "h1")
	k.do("r", flow.Claim{}, c.Token)
	k.do("r", k.finish("r", `"told"`), c.Token)
	k.equal("r")
	k.start("q", "gate", "")
	c = k.claim("q", "h1")
	k.do("q", started(), c.Token)
	k.do("q", flow.Ask{Attempt: "q/gate#1", Request: workflow.JSON(`{"title":"?"}`)}, c.Token)
	k.equal("q")
	if given, err := k.Given(k.ctx, "q"); err != nil || string(given) != `{"passed":true}` {
		t.Errorf("given input: %s, %v", given, err)
	}
}

func rowsOfACommit(t *testing.T, k *kit) {
	k.start("r", "steps", "")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	k.do("r", k.finish("r", `{"passed":false}`), c.Token)
	for seq, want := range map[int64]string{1: "", 2: `{"passed":true}`, 3: `{"passed":false}`} {
		got, err := k.Output(k.ctx, "r", seq)
		if string(got) != want || (want == "") != errors.Is(err, ErrNotFound) {
			t.Errorf("output of commit %d: %s, %v", seq, got, err)
		}
	}
	log, err := k.Log(k.ctx, "r", 1, 1)
	if err != nil || len(log) != 1 || log[0].Seq != 2 || log[0].Token != c.Token || log[0].At != k.now {
		t.Errorf("got %+v, %v", log, err)
	}
}

func outboxOnce(t *testing.T, k *kit) {
	k.start("r", "steps", "S")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	k.do("r", k.finish("r", `{}`), c.Token)
	k.do("r", k.finish("r", `{}`), c.Token)
	k.do("r", k.finish("r", `"news <&>"`), c.Token)
	notes, err := k.Outbox(k.ctx, "S")
	if err != nil || len(notes) != 1 || notes[0].ID != "r/n/1" || notes[0].Body != "news <&>" || notes[0].Kind != flow.NoticeText {
		t.Fatalf("got %+v, %v", notes, err)
	}
	if err := k.Own(k.ctx, "S", 3); err != nil {
		t.Fatal(err)
	}
	k.fenced("a delivery by an older owner", k.Deliver(k.ctx, "r/n/1", "S", 2, k.now))
	k.fenced("a delivery to another session", k.Deliver(k.ctx, "r/n/1", "T", 3, k.now))
	if err := k.Deliver(k.ctx, "r/n/1", "S", 3, k.now); err != nil {
		t.Error(err)
	}
	if err := k.Deliver(k.ctx, "r/n/1", "S", 3, k.now); !errors.Is(err, ErrDelivered) {
		t.Errorf("a second delivery: %v", err)
	}
	if notes, err := k.Outbox(k.ctx, "S"); err != nil || len(notes) != 0 {
		t.Errorf("got %+v, %v", notes, err)
	}
}

// presented: a presentation's row says when it was written, of which workflow
// it is, and whether another run came after it.
func presented(t *testing.T, k *kit) {
	k.start("before", "steps", "S")
	k.start("r", "shown", "S")
	c := k.claim("r", "h1")
	k.do("r", started(), c.Token)
	k.do("r", k.finish("r", `{"passed":true}`), c.Token)
	k.do("r", flow.Presentation{Text: "Tell <it>.", Result: workflow.JSON(`{"passed":true}`)}, c.Token)
	row := func() Note {
		notes, err := k.Outbox(k.ctx, "S")
		if err != nil || len(notes) != 1 {
			t.Fatalf("got %+v, %v", notes, err)
		}
		return notes[0]
	}
	want := Note{Notice: flow.Notice{ID: "r/present", Kind: flow.NoticePresent, Body: `{"text":"Tell <it>.","result":"{\"passed\":true}"}`},
		Run: "r", Session: "S", Workflow: "shown", Created: k.now}
	if d := cmp.Diff(want, row()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	k.start("elsewhere", "steps", "T")
	if row().Newer {
		t.Error("a run of another session is newer")
	}
	k.start("after", "steps", "S")
	if !row().Newer {
		t.Error("a run that was started after the row isn't newer")
	}
}

func oneWinner(t *testing.T, k *kit) {
	k.start("r", "gate", "")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	k.do("r", flow.Ask{Attempt: "r/gate#1", Request: workflow.JSON(`{"title":"?"}`)}, c.Token)
	r, _, _ := k.load("r")
	id := r.Open.Decision
	var writes []Write
	for _, ev := range []flow.Event{flow.Answer{Decision: id, Choice: "yes", By: "a", Key: "1"}, flow.Answer{Decision: id, Choice: "no", By: "b", Key: "2"}, flow.Cancel{By: "c"}} {
		writes = append(writes, k.write("r", ev, 0, false))
	}
	errs := make([]error, len(writes))
	var all sync.WaitGroup
	for i, w := range writes {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = k.Commit(k.ctx, w)
		}()
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
		} else {
			k.fenced(fmt.Sprint("answer ", i), err)
		}
	}
	d, err := k.Decision(k.ctx, id)
	if won != 1 || err != nil || !d.Answered || d.Run != "r" || string(d.Request) != `{"title":"?"}` {
		t.Errorf("%d have won: %+v, %v", won, d, err)
	}
	for _, key := range []string{"1", "3"} { // another key finds the newest
		if got, err := k.Answered(k.ctx, "r", key); err != nil || got != id {
			t.Errorf("key %s: got %q, %v", key, got, err)
		}
	}
	if got, err := k.Answered(k.ctx, "x", "1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another run's: %q, %v", got, err)
	}
	k.equal("r")
}

func signals(t *testing.T, k *kit) {
	k.start("r", "steps", "")
	c := k.claim("", "h1")
	k.do("r", started(), c.Token)
	for _, id := range []string{"s1", "s2", "s1"} {
		if err := k.Leave(k.ctx, "r", id, flow.Pause{By: id}, k.now); err != nil {
			t.Fatal(err)
		}
		k.now++
	}
	list, err := k.Signals(k.ctx, "r")
	if err != nil || len(list) != 2 || list[0].Event != (flow.Pause{By: "s1"}) {
		t.Fatalf("got %+v, %v", list, err)
	}
	w := k.write("r", list[0].Event, c.Token, false)
	w.Consumed = []string{"s1"}
	if err := k.Commit(k.ctx, w); err != nil {
		t.Fatal(err)
	}
	k.fenced("the lost acknowledgement's repetition", k.Commit(k.ctx, w))
	if had, err := k.Drop(k.ctx, "r", "s2"); err != nil || !had {
		t.Errorf("dropped %v, %v", had, err)
	}
	if had, err := k.Drop(k.ctx, "r", "s2"); err != nil || had {
		t.Errorf("dropped again %v, %v", had, err)
	}
	if list, err := k.Signals(k.ctx, "r"); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := k.Leave(k.ctx, "r", "s", flow.Fire{}, k.now); err == nil {
		t.Error("a timer is no signal")
	}
}

func timers(t *testing.T, k *kit) {
	for _, id := range []string{"r1", "r2"} {
		k.start(id, "nap", "")
		c := k.claim(id, "h1")
		k.do(id, started(), c.Token)
		k.do(id, flow.Wait{Attempt: id + "/nap#1", Millis: map[string]int64{"r1": 5000, "r2": 2000}[id]}, c.Token)
	}
	for after, want := range map[int64][]string{1000: nil, 2100: {"r2"}, 6000: {"r2", "r1"}} {
		if got, err := k.Due(k.ctx, k.now+after, 10); err != nil || !slices.Equal(got, want) {
			t.Errorf("after %d ms: %v, %v; want %v", after, got, err, want)
		}
	}
	k.now += 6000
	k.do("r1", flow.Fire{}, 0)
	if got, err := k.Due(k.ctx, k.now, 10); err != nil || !slices.Equal(got, []string{"r2"}) {
		t.Errorf("after one was fired: %v, %v", got, err)
	}
}

func deadHolder(t *testing.T, k *kit) {
	k.start("r1", "steps", "")
	k.start("r2", "steps", "")
	k.claim("r1", "h1")
	k.claim("r2", "h2")
	if got, err := k.Holders(k.ctx, k.now); err != nil || len(got) != 2 {
		t.Errorf("holders: %v, %v", got, err)
	}
	if n, err := k.Expire(k.ctx, "h1", k.now); err != nil || n != 1 {
		t.Errorf("ended %d, %v", n, err)
	}
	if c := k.claim("r1", "h3"); c == nil || c.LeaseWas != k.now {
		t.Errorf("got %+v", c)
	}
	if c := k.claim("r2", "h3"); c != nil {
		t.Errorf("got %+v", c)
	}
}

func manyAtOnce(t *testing.T, k *kit) {
	const runs = 40
	var writes []Write
	for i := range runs {
		id := fmt.Sprintf("r%02d", i)
		k.start(id, "steps", "")
		c := k.claim(id, "h1")
		writes = append(writes, k.write(id, started(), c.Token, false))
	}
	writes[7].Token++              // fenced
	writes[9].Commit.Output = nil  // fine
	writes[11].Commit.Next.Seq = 1 // breaks the event's key
	errs := make([]error, runs)
	var all sync.WaitGroup
	for i, w := range writes {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = k.Commit(k.ctx, w)
		}()
	}
	all.Wait()
	for i, err := range errs {
		switch i {
		case 7:
			k.fenced("the wrong token", err)
		case 11:
			if err == nil {
				t.Error("a broken commit was taken")
			}
		default:
			if err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		}
	}
	if r, _, _ := k.load("r11"); r.Seq != 1 || r.Status != flow.Queued {
		t.Errorf("the broken commit has left something: %+v", r)
	}
}
