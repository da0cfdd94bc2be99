-- What an operation, or one of its steps, waits for that may end by itself, such as a silent server,
-- and since when: the wait has a limit. `step`: its key; empty for an operation that has not begun.
create table operation_delay (
  operation_id uuid not null references operation on delete cascade,
  step text not null,
  since timestamptz not null,
  reason text not null,
  primary key (operation_id, step)
);
