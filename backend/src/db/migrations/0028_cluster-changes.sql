-- Changes of running clusters: when they begin, and the weekly times in which scheduled ones go on.
alter table operation
  add column starts_at timestamptz,
  add column in_window boolean not null default false;

alter table cluster add column maintenance_window jsonb;
