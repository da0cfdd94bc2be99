-- What servers say themselves about their services, stages and sequences. Talos keeps its events in memory, so they are kept here for when the server is off or has started anew: the newest of each server.
create table machine_event (
  server_id uuid not null,
  -- Grows with time.
  id text not null,
  at timestamptz(3),
  type text not null,
  message text not null,
  primary key (server_id, id)
);
