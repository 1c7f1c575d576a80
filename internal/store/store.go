package store

import (
	"context"
	"errors"
	"strings"

	"github.com/gamma-harness/gamma/internal/flow"
	"github.com/gamma-harness/gamma/workflow"
)

// What a caller has to handle.
var (
	// ErrFenced: somebody else has changed the run or holds its claim; nothing
	// was written.
	ErrFenced = errors.New("the run has changed meanwhile")
	// ErrDelivered: the note was marked before.
	ErrDelivered = errors.New("it is marked as delivered already")
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrExists: a run with this id is there.
	ErrExists = errors.New("exists already")
	// ErrTryLater is in the error of a database that can't be used for now:
	// another process keeps it busy, the disk is full or fails. Whether a
	// write that failed with it is there, only reading tells.
	ErrTryLater = errors.New("try again later")
	// ErrSlot: the session has another run.
	ErrSlot = errors.New("the session has another run")
)

// New is a run to be queued.
type New struct {
	Commit     flow.Commit // of flow.Create
	Definition Definition
	Workspace  string
	Input      workflow.JSON // as given
	Now        int64
	// Holder takes the claim with the creation; "" queues the run for any host.
	Holder     string
	LeaseUntil int64
}

// Definition is what a run was started with.
type Definition struct {
	Key      string
	Name     string
	Snapshot []byte
	Identity string // of the code: source and revision
	Source   []byte // bundled code, if the run owns it
}

// Hunt says which run is to be claimed.
type Hunt struct {
	Run        string   // this one; "": the oldest that fits
	By         []string // "*" and the sessions that are live here
	Not        []string // runs that aren't claimed
	Wanted     []string // runs that wait to be claimed here: those of one session are claimed in the order in which they were made
	Holder     string
	Now        int64
	LeaseUntil int64
}

// Claimed is a claim that was won.
type Claimed struct {
	Run      string
	Token    int64
	LeaseWas int64 // since when nobody worked on the run; 0: no clock ran
	Lost     bool  // the claim before wasn't given back
}

// Write is a commit of a run.
type Write struct {
	Graph      *flow.Graph
	Before     *flow.Run // what Commit was decided on
	Commit     *flow.Commit
	Token      int64 // of the claim; 0: a visit, which needs that nobody has a live claim
	Now        int64
	LeaseUntil int64    // of the claim from now on; 0 gives it back
	Consumed   []string // ids of signals that the commit carries out
}

// Event is a commit as it is stored.
type Event struct {
	Seq     int64
	At      int64
	Token   int64
	Facts   []flow.Fact
	Output  workflow.JSON
	Receipt workflow.JSON
}

// Info is what a list of runs shows.
type Info struct {
	ID, Workflow, Title, Session, Workspace string
	Status                                  flow.Status
	Reason, Message                         string
	Node                                    string // of the open attempt
	Waits                                   bool   // the open attempt waits for the user to speak
	Seq                                     int64
	Steps                                   int
	Wake                                    int64
	Holder                                  string // of a claim that is live or was lost; "" if it was given back
	LeaseUntil                              int64
	Created, Updated                        int64
	Definition                              string // key
	Behind                                  string // of a queued run: the run that has its session's slot
}

// Which says what runs are wanted; the zero value fits all.
type Which struct {
	Session string // those with this session of origin; "": any
	Open    bool   // those that haven't ended
}

// Key names an event by who has sent it and under what key, so that it is taken
// once.
type Key struct {
	Run     string // that may have taken it; "": any of the session
	Session string // of origin; "": any
	By, Key string
}

// Signal is an event that somebody left for the holder of a claim.
type Signal struct {
	ID    string
	Event flow.Event
	At    int64
}

// Decision is what is or was asked.
type Decision struct {
	ID, Run, Digest string
	Request         workflow.JSON
	ExpiresAt       int64
	Answered        bool
	Choice, By, Key string
	Answer          workflow.JSON // of a checkpoint, or with its text
	At              int64
}

// Note is an outbox row.
type Note struct {
	flow.Notice
	Run, Session, Workflow string
	Created                int64
	// Newer, of a presentation: the session has a run that was started after
	// the row was written.
	Newer bool
}

// Node is the node that a notification comes from.
func (n Note) Node() string {
	rest := strings.TrimPrefix(n.ID, n.Run+"/")
	return rest[:max(strings.LastIndexByte(rest, '/'), 0)]
}

// Store holds workflow runs. Reading methods return ErrNotFound for a run that
// isn't there. All methods may be called from several goroutines and processes.
type Store interface {
	// Enqueue stores a run with its first commit. ErrExists if the id is taken.
	Enqueue(ctx context.Context, n New) (Claimed, error)
	// Claim takes the claim of a run that the hunt allows, that nobody holds,
	// and whose session has its slot free. Nil: there is none.
	Claim(ctx context.Context, h Hunt) (*Claimed, error)
	// Commit writes a commit. ErrFenced: the claim is lost or the run has
	// changed; ErrSlot: the session's slot is taken.
	Commit(ctx context.Context, w Write) error
	// Renew keeps a claim until then. ErrFenced: it is lost or has run out.
	Renew(ctx context.Context, run string, token, now, until int64) error
	// Release gives a claim back. A claim that is lost stays lost.
	Release(ctx context.Context, run string, token, now int64) error
	// Expire ends the claims of a holder whose process is known to be dead.
	Expire(ctx context.Context, holder string, now int64) (int, error)

	// Load reads a run's projection, with the key of its definition.
	Load(ctx context.Context, run string) (*flow.Run, Info, error)
	// Output reads the output of a commit; ErrNotFound if it has none.
	Output(ctx context.Context, run string, seq int64) (workflow.JSON, error)
	// Given reads the input that a run was started with.
	Given(ctx context.Context, run string) (workflow.JSON, error)
	// Log reads up to limit commits behind one; limit 0 is all.
	Log(ctx context.Context, run string, after int64, limit int) ([]Event, error)
	// Runs lists runs, the newest first; limit 0 is all.
	Runs(ctx context.Context, limit int) ([]Info, error)
	// Select lists the runs that fit, the newest first.
	Select(ctx context.Context, w Which) ([]Info, error)
	// Taken returns the run that has taken an event with this key.
	Taken(ctx context.Context, k Key) (string, error)
	// Find returns the ids of runs that begin or end with a text.
	Find(ctx context.Context, text string) ([]string, error)
	// Definition reads a definition by its key.
	Definition(ctx context.Context, key string) (Definition, error)
	// Holders lists the holders of live claims.
	Holders(ctx context.Context, now int64) ([]string, error)
	// Due lists runs whose time has come, the earliest first.
	Due(ctx context.Context, now int64, limit int) ([]string, error)

	// Leave leaves an event for the holder of a claim. The same id twice is one.
	// One with a key that the run has taken already isn't left again.
	// ErrNotFound: there is no such run.
	Leave(ctx context.Context, run, id string, ev flow.Event, now int64) error
	// Signals lists what was left for a run, the oldest first.
	Signals(ctx context.Context, run string) ([]Signal, error)
	// Drop removes a signal that was refused, or that its sender takes back.
	// False: it was gone.
	Drop(ctx context.Context, run, id string) (bool, error)

	// Decision reads a decision.
	Decision(ctx context.Context, id string) (Decision, error)
	// Answered returns the id of the decision of a run that was answered with a
	// key, else of the one that was answered last.
	Answered(ctx context.Context, run, key string) (string, error)
	// Outbox lists what wasn't delivered to a session yet, in order.
	Outbox(ctx context.Context, session string) ([]Note, error)
	// Deliver marks a note as delivered, under the session's token. ErrFenced:
	// another owner has the session; ErrDelivered: the note was marked before.
	Deliver(ctx context.Context, note, session string, token, now int64) error
	// Own stores a session's lease token where it is larger than the one that
	// is there. ErrFenced: a larger one is there.
	Own(ctx context.Context, session string, token int64) error
	// Owned is the lease token that is stored for a session, 0 if there is none:
	// who opens the session next needs a larger one.
	Owned(ctx context.Context, session string) (int64, error)

	// Removable says why a run can't be removed. ErrOpen: it hasn't ended, or
	// somebody has its claim; ErrUntold: notes to its session wait, unless those
	// may go, too.
	Removable(ctx context.Context, run string, untold bool, now int64) error
	// Remove removes a run with everything of it, if it is removable.
	Remove(ctx context.Context, run string, untold bool, now int64) error

	Close() error
}
