-- Lists and the audit log carry no large texts: an excerpt stands for them (contract/bounds/excerpt.ts).

-- The start takes at most 4 KiB as JSON; no character takes more than six bytes there.
create function excerpt_of(whole text) returns jsonb language sql immutable as $$
  select jsonb_build_object(
    'bytes', octet_length(whole),
    'sha256', encode(sha256(convert_to(whole, 'UTF8')), 'hex'),
    'start', case
      when octet_length(to_jsonb(left(whole, 4096))::text) <= 4098 then left(whole, 4096)
      when octet_length(to_jsonb(left(whole, 3500))::text) <= 4098 then left(whole, 3500)
      when octet_length(to_jsonb(left(whole, 2048))::text) <= 4098 then left(whole, 2048)
      else left(whole, 682)
    end)
$$;

create function with_excerpt(fields jsonb, place text[]) returns jsonb language sql immutable as $$
  select case
    when fields #> place is null then fields
    else jsonb_set(fields, place, excerpt_of(fields #>> place))
  end
$$;

-- The definition with excerpts of its patches, which the list reads.
alter table template add column listed jsonb;
update template set listed =
  with_excerpt(with_excerpt(definition, '{control_planes,patch,body}'), '{workers,patch,body}');
alter table template alter column listed set not null;

-- Of an object that an older version recorded: excerpts of the JSON of its large fields, or of the whole object.
create function recorded_of(fields jsonb) returns jsonb language plpgsql as $$
declare
  short jsonb;
begin
  if fields is null or octet_length(fields::text) <= 16384 then
    return fields;
  end if;
  select jsonb_object_agg(key,
    case when octet_length(value::text) <= 1024 then value else excerpt_of(value::text) end)
    into short from jsonb_each(fields);
  if octet_length(short::text) <= 16384 then
    return short;
  end if;
  return jsonb_build_object('object', excerpt_of(fields::text));
end
$$;

-- What lists show of the entries that an older version wrote with large texts. The entries stay as they are: the chain covers them.
create table audit_excerpt (
  seq bigint primary key,
  before jsonb,
  after jsonb
);
insert into audit_excerpt (seq, before, after)
  select seq, recorded_of(before), recorded_of(after)
  from audit_entry
  where octet_length(before::text) > 16384 or octet_length(after::text) > 16384;

drop function recorded_of(jsonb);
drop function with_excerpt(jsonb, text[]);
drop function excerpt_of(text);
