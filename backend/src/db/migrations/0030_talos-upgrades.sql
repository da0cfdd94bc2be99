-- What a server becomes in an upgrade of Talos, and what it was before. `boot_id`: its boot when it was told to change, so that a restart is noticed.
create table talos_upgrade (
  operation_id uuid not null references operation on delete cascade,
  node_id uuid not null,
  image text not null,
  version text not null,
  schematic text not null,
  version_before text not null,
  schematic_before text not null,
  -- The attempt: the operation's round, and when the image was written, the command was about to be sent, and it was sent.
  round integer not null default 0,
  boot_id text,
  written_at timestamptz(3),
  intent_at timestamptz(3),
  sent_at timestamptz(3),
  -- When the server's stored configuration got the image.
  followed_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (operation_id, node_id)
);
create index talos_upgrade_node on talos_upgrade (node_id, created_at);
