-- What a restored installation must not touch until a person has looked. Empty in one that was never restored.
create table restoration (
  singleton boolean primary key default true check (singleton),
  backup_made_at timestamptz(3) not null,
  restored_at timestamptz(3) not null
);

-- No reconciler runs for an object while it is here.
create table hold (
  -- Id that the wake-ups of the object begin with: of a cluster, of a server, or of what an operation adds.
  subject uuid primary key,
  -- What a person resumes: a cluster with its servers, or an operation of its own.
  kind text not null check (kind in ('cluster', 'operation')),
  id uuid not null
);
create index hold_of on hold (kind, id);

-- Asked for while the object was held; given back at its release.
alter table wake_up add column held boolean not null default false;
alter table operation add column held_since timestamptz(3);
