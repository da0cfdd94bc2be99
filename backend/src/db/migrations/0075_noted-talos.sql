-- When an upgrade recorded what the server runs. A reading that began before may be older than that.
alter table server add column talos_noted_at timestamptz;
