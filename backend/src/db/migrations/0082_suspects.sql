-- An end of the process counts against an object only if its run was the only one of that process; otherwise its runs are suspects, which run one at a time (`engine/crashes.ts`).
-- `suspicions`: ends in a row in which others ran too. `crashed_instance`: the process that ended; `crashed_alone`: whether its last end was counted in `crashes`.
-- `retry_at`: when a halted object is tried again by itself; `trying`: it is being tried.
alter table wake_up
  add column suspicions integer not null default 0,
  add column crashed_instance uuid,
  add column crashed_alone boolean not null default false,
  add column retry_at timestamptz,
  add column trying boolean not null default false;
update wake_up set retry_at = now() + interval '10 minutes' where halted_at is not null;
create index wake_up_suspect on wake_up (due_at) where suspicions > 0 and owner is null and halted_at is null;
