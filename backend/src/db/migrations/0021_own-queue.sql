-- The queue is `wake_up` itself. The jobs of the queue library that carried it until now go: whatever is due stands in `wake_up` as well, and what a killed
-- process was looking at has its owner there.
drop schema if exists pgboss cascade;
alter table wake_up drop column job_id;
drop index wake_up_due;
create index wake_up_due on wake_up (queue, due_at, key) where owner is null and due_at is not null;
