-- Before which time measurements were made up by the simulation: at most one row, and none in an installation with real servers.
create table measurement_simulated (
  id smallint primary key default 1 check (id = 1),
  before timestamptz not null
);
