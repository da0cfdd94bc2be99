-- The kernel's names of disks are given anew at each boot; what was chosen is told apart by the disks' own ids.

alter table cluster_server
  -- Device path → WWID, of the chosen disks that have one of their own.
  add column disk_wwids jsonb not null default '{}',
  -- The WWID by which the configuration names the install disk; null: by its path.
  add column install_wwid text,
  -- What the server told of its own trouble last: its log is gone with its next restart.
  add column trouble text;
