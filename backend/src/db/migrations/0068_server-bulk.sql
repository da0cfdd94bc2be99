-- The servers of an act on many, and the operation on each that carries it out.
create table server_bulk_item (
  operation_id uuid not null references operation on delete cascade,
  server_id uuid not null references server on delete cascade,
  position integer not null,
  -- The version that was planned.
  version bigint not null,
  -- The cluster at the request: its servers follow each other.
  cluster_id uuid,
  begun_id uuid,
  primary key (operation_id, server_id)
);
create index server_bulk_item_server on server_bulk_item (server_id);
