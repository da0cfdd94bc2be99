-- What has changed since the last look is found by `server.change`. A layer is part of its server.
create function note_layer_change() returns trigger language plpgsql as $$
begin
  update server set change = change where id = coalesce(new.server_id, old.server_id);
  return null;
end
$$;
create trigger shared_layer_changes after insert or update or delete on shared_layer
  for each row execute function note_layer_change();
