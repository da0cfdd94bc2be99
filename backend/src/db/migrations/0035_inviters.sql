-- Who made an invitation or a link for a new password. These end when their maker stops being an active administrator.
alter table invitation add column inviter_id uuid references person on delete cascade;
update invitation set inviter_id = (select id from person where email = invited_by);
create index invitation_inviter on invitation (inviter_id);
alter table password_reset add column offered_by uuid references person on delete cascade;
create index password_reset_offered_by on password_reset (offered_by);
