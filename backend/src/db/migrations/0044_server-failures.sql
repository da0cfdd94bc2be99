-- Why a server failed in its cluster, beside its status in every list of servers.
alter table server
  add column failed_at timestamptz(3),
  add column failure text;

-- Every change of a member counts, whoever makes it. The version grows, because readers see the failure.
create function note_failure() returns trigger language plpgsql as $$
declare
  member cluster_server := case when tg_op = 'DELETE' then old else new end;
  stays boolean := tg_op <> 'DELETE' and member.released_at is null;
begin
  update server set
    failed_at = case when stays then member.failed_at end,
    failure = case when stays then member.failure end,
    version = version + 1
  where id = member.node_id
    and (failed_at is distinct from case when stays then member.failed_at end
      or failure is distinct from case when stays then member.failure end);
  return null;
end
$$;
create trigger cluster_server_failed after insert or delete or update of failed_at, failure, released_at on cluster_server
  for each row execute function note_failure();

update server set failed_at = member.failed_at, failure = member.failure
from cluster_server as member
where member.node_id = server.id and member.released_at is null and member.failed_at is not null;
