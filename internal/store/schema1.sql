CREATE TABLE definition(
  digest TEXT PRIMARY KEY, name TEXT NOT NULL, snapshot TEXT NOT NULL, identity TEXT NOT NULL, source BLOB
) STRICT;
CREATE TABLE run(
  id TEXT PRIMARY KEY, definition TEXT NOT NULL REFERENCES definition(digest), session TEXT, workspace TEXT NOT NULL, input TEXT NOT NULL,
  title TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, seq INTEGER NOT NULL,
  attempts INTEGER NOT NULL, steps INTEGER NOT NULL, next TEXT NOT NULL, tries INTEGER NOT NULL, pause INTEGER NOT NULL,
  turn TEXT NOT NULL, presented INTEGER NOT NULL, result TEXT NOT NULL, tokens INTEGER NOT NULL, tokens_at INTEGER NOT NULL,
  open TEXT, wake_at INTEGER, claim_by TEXT, slot INTEGER NOT NULL, token INTEGER NOT NULL, holder TEXT,
  lease_until INTEGER NOT NULL, lease_was INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_work ON run(claim_by, created_at) WHERE claim_by IS NOT NULL;
CREATE INDEX run_wake ON run(wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX run_new ON run(created_at);
CREATE UNIQUE INDEX run_slot ON run(session) WHERE slot = 1;
CREATE TABLE event(
  run TEXT NOT NULL REFERENCES run(id), seq INTEGER NOT NULL, at INTEGER NOT NULL, token INTEGER NOT NULL, facts TEXT NOT NULL,
  output TEXT, receipt TEXT, PRIMARY KEY(run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE node(
  run TEXT NOT NULL, node TEXT NOT NULL, attempt TEXT NOT NULL, outcome TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
  seq INTEGER NOT NULL, notified INTEGER NOT NULL, PRIMARY KEY(run, node)
) STRICT, WITHOUT ROWID;
CREATE TABLE mount(
  run TEXT NOT NULL, mount TEXT NOT NULL, invocation INTEGER NOT NULL, steps INTEGER NOT NULL, since INTEGER NOT NULL,
  PRIMARY KEY(run, mount)
) STRICT, WITHOUT ROWID;
CREATE TABLE decision(
  id TEXT PRIMARY KEY, run TEXT NOT NULL, digest TEXT NOT NULL, request TEXT NOT NULL, expires_at INTEGER,
  choice TEXT, answer TEXT, by TEXT, key TEXT, at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE delivery(
  decision TEXT NOT NULL, channel TEXT NOT NULL, part INTEGER NOT NULL, state TEXT NOT NULL, detail TEXT,
  PRIMARY KEY(decision, channel, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox(
  id TEXT PRIMARY KEY, run TEXT NOT NULL, session TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
  created_at INTEGER NOT NULL, delivered_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox(session, created_at) WHERE delivered_at IS NULL;
CREATE TABLE signal(
  run TEXT NOT NULL, id TEXT NOT NULL, input TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(run, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE progress(
  run TEXT NOT NULL, type TEXT NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, estimate TEXT, history TEXT,
  PRIMARY KEY(run, type, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE session(id TEXT PRIMARY KEY, token INTEGER NOT NULL) STRICT, WITHOUT ROWID;
