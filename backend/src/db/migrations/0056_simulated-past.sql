-- Whether the entry was written by the simulation as if it had happened. No state is computed from it.
alter table history add column simulated boolean not null default false;
