-- What a server repeats, such as the health of a service that comes and goes, is one row with a count
-- and the times of the first and the last event. "id" and "at" are those of the last one.
alter table machine_event
  add count integer not null default 1,
  add first_at timestamptz(3),
  -- Installations, upgrades, boots, configurations and failures stay when much else is told.
  add matters boolean not null default true;
update machine_event set matters = false
where type in ('service', 'address') or (type = 'stage' and message like 'The server is running%');
