-- What clusters of one kind have in common. A template holds no secret: its patches are refused if they do.
create table template (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  -- All its fields but the name.
  definition jsonb not null,
  -- Increases with each change.
  revision integer not null default 1,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  created_by_name text not null,
  constraint template_name unique (name)
);
