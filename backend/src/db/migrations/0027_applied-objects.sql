-- What `steelyard apply` has created, so that `apply --prune` removes only that. `id` is text, because ids of offers aren't UUIDs.
create table applied_object (
  kind text not null,
  id text not null,
  set_name text not null,
  server_id uuid,
  created_at timestamptz(3) not null,
  primary key (kind, id)
);
create index applied_object_set on applied_object (set_name);
