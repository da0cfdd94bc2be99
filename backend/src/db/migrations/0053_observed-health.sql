-- What the members of etcd, the API servers and the disks of a running cluster showed last. Findings are judged from it.
alter table cluster add column observed jsonb;
alter table cluster drop constraint cluster_problem_check,
  add constraint cluster_problem_check check (problem in ('api', 'api_server', 'nodes', 'components', 'former_member'));

-- Installations that failed on a server, until one succeeds. They outlive its membership, so that nobody is offered it unwarned.
alter table server
  add column failed_installs integer not null default 0,
  add column install_failed_at timestamptz(3),
  add column install_failure text;

create function note_install() returns trigger language plpgsql as $$
begin
  if new.secured_at is not null and old.secured_at is null then
    update server set failed_installs = 0, install_failed_at = null, install_failure = null, version = version + 1
    where id = new.node_id and failed_installs > 0;
  elsif new.failed_at is not null and old.failed_at is null and new.at = 'install' then
    update server set
      failed_installs = failed_installs + 1,
      install_failed_at = new.failed_at,
      install_failure = new.failure,
      version = version + 1
    where id = new.node_id;
  end if;
  return null;
end
$$;
create trigger cluster_server_installed after update of failed_at, secured_at on cluster_server
  for each row execute function note_install();
