-- Runs that ended their process are counted per object, so that an operation whose work kills Steelyard isn't resumed for ever (`engine/crashes.ts`).
-- `instance`: the start of the process that holds the object; `owner` survives a restart. `crash_mark`: how far the object's effects had come at the last crash.
-- `crashed_fence`: the run that was counted last. `halted_at`: the object waits for a user.
alter table wake_up
  add column instance uuid,
  add column crashes integer not null default 0,
  add column crash_mark text,
  add column crashed_fence bigint,
  add column halted_at timestamptz;
drop index wake_up_due;
create index wake_up_due on wake_up (queue, due_at, key) where owner is null and due_at is not null and halted_at is null;
create index wake_up_crashed on wake_up (queue, key) where crashes > 1 or halted_at is not null;
