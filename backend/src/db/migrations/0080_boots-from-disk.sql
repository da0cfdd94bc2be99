-- A server counts as installed when it has restarted since its configuration was sent. Talos 1.14 goes on from memory after a failed installation.

-- The boot in which the server got its configuration; null if Talos doesn't show it before it is configured (1.13 and older).
alter table cluster_server add column install_boot_id text;

-- When the installation that Talos carries out by itself was seen to fail, until it is seen to go on. A server that restarts after that hasn't been installed.
alter table cluster_server add column install_failed_at timestamptz;

-- Since when it is known that the server's disk doesn't boot. The server is reset, and installed again.
alter table cluster_server add column unbootable_at timestamptz;

-- How often the server was reset for that since a user's last order.
alter table cluster_server add column install_resets smallint not null default 0 check (install_resets >= 0);

-- When the server was restarted because Talos had given up to start its etcd; once since a user's last order.
alter table cluster_server add column etcd_restart_at timestamptz;
