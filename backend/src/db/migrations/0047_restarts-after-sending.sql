-- Restarts that Steelyard makes itself, because Talos 1.14 makes none for a configuration.

-- The boot of the machine in which it was sent this configuration, which takes effect with the next one; null if it needs no restart.
alter table cluster_server_config add column restart_boot_id text;
