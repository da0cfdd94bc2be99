-- The loss of the server is confirmed, and the configuration is sent on trial nevertheless: the seconds after which Talos undoes it. With is_for_good it is sent without a trial.
alter table cluster_server_config add column undo_after_seconds integer check (undo_after_seconds > 0);
