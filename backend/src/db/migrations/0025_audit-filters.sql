-- The filters of the audit log and of the list of operations.
drop index audit_entry_target;
create index audit_entry_target on audit_entry (target_id, seq);
create index audit_entry_action on audit_entry (action text_pattern_ops, seq);
create index audit_entry_actor_name on audit_entry (actor_name, seq);
