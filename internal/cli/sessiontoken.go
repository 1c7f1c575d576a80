package cli

import "context"

// A session's lease token is the number of its segment. A directory that was
// made anew under an old id, or put back from a copy, has forgotten the numbers
// that were used since; the database hasn't, and refuses them. So who opens a
// session asks there first. What the database learns while the session is taken
// can only be of an owner before, whose segment is in the directory then.

// used is the highest lease token of a session that the database knows.
func (c *execCmd) used(ctx context.Context, session string) (int64, error) {
	if c.owned != nil {
		return c.owned(ctx, session)
	}
	if c.runs == nil {
		return 0, nil
	}
	runs, err := c.runs.there()
	if runs == nil || err != nil {
		return 0, nil // whoever needs the database next tells what is wrong with it
	}
	return runs.Store.Owned(ctx, session)
}

// owned is as of store.Store.
func (r *process) owned(ctx context.Context, session string) (int64, error) {
	runs, err := r.open(ctx)
	if err != nil {
		return 0, err
	}
	return runs.Store.Owned(ctx, session)
}
