-- A disk that holds something is wiped only after it was named: right before the order it is compared with what was agreed on.

alter table cluster_server
  -- Device path → model, serial, WWID and content of the chosen disks when they were confirmed.
  add column agreed_disks jsonb not null default '{}';
