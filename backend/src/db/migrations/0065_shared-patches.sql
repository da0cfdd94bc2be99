-- Patches of the fleet. What a server has of them is a copy with the values of its variables, so that only a roll-out changes a server.
create table shared_patch (
  id uuid primary key default gen_random_uuid(),
  name text not null check (name <> ''),
  weight integer not null check (weight between 0 and 999),
  -- The YAML text with variables; it may hold registry passwords and WireGuard keys.
  body_sealed bytea not null,
  -- {labels, cluster_ids, roles, node_ids}
  targets jsonb not null,
  variables text[] not null default '{}',
  -- Increases with each change of name, weight or body.
  revision integer not null default 1,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  created_by_name text not null,
  constraint shared_patch_name unique (name)
);

-- What a server has of a shared patch.
create table shared_layer (
  server_id uuid not null references server on delete cascade,
  patch_id uuid not null references shared_patch,
  revision integer not null,
  name text not null,
  weight integer not null,
  body_sealed bytea not null,
  links text[] not null default '{}',
  -- The values of the variables.
  filled jsonb not null,
  created_at timestamptz(3) not null,
  primary key (server_id, patch_id)
);
create index shared_layer_patch on shared_layer (patch_id);

-- A roll-out keeps the patch as it was, and what each server had before, for its undo.
create table shared_roll_out (
  id uuid primary key default gen_random_uuid(),
  patch_id uuid not null references shared_patch on delete cascade,
  operation_id uuid not null unique references operation on delete cascade,
  -- The roll-out that this one takes back.
  undoes uuid references shared_roll_out on delete cascade,
  revision integer not null,
  -- {name, weight, body, targets}
  definition_sealed bytea not null,
  created_at timestamptz(3) not null,
  created_by_name text not null
);
create index shared_roll_out_patch on shared_roll_out (patch_id, created_at);
create index shared_roll_out_undoes on shared_roll_out (undoes);
create table shared_roll_out_server (
  roll_out_id uuid not null references shared_roll_out on delete cascade,
  server_id uuid not null references server on delete cascade,
  position integer not null,
  -- The layers before and after, null: none.
  before_sealed bytea,
  after_sealed bytea,
  -- The change of the server's cluster that carries it out.
  change_id uuid,
  applied_at timestamptz(3),
  primary key (roll_out_id, server_id)
);
create index shared_roll_out_server_server on shared_roll_out_server (server_id, applied_at);
