import { useQuery } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useMemo, useState } from 'react'
import type { Operation } from '#contract/operations.ts'
import {
  canRollOutSharedPatch,
  canUndoSharedPatch,
  type SharedPatch,
} from '#contract/shared-patches/shared-patches.ts'
import { everyCluster } from '../../../api/every.ts'
import { CallError } from '../../../api/client.ts'
import { operationOne } from '../../../layout/operations/operation-queries.ts'
import { useCommands } from '../../../layout/search/commands.ts'
import { paths } from '../../../lib/paths.ts'
import { navigate } from '../../../lib/router.ts'
import { NotFound, Pending } from '../../../ui/feedback/PageStates.tsx'
import { Stale } from '../../../ui/feedback/States.tsx'
import { Badge, StatusDot } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { CodeEditor } from '../../../ui/inputs/CodeEditor.tsx'
import { IconButton } from '../../../ui/inputs/Button.tsx'
import { Menu } from '../../../ui/overlay/Menu.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Facts, PageHeader, Panel } from '../../../ui/text/Panel.tsx'
import {
  editAction,
  removeAction,
  rollOutAction,
  rollOutDialog,
  undoAction,
} from './shared-actions.ts'
import { patchServersQuery, sharedPatchQuery } from './shared-queries.ts'
import { patchSaid, targetsSaid, undoSaid } from './shared-state.ts'
import { Progress } from './Progress.tsx'
import css from './Shared.module.css'
import { LastRollOut } from './SharedPatchesPage.tsx'
import { SharedServers } from './SharedServers.tsx'

interface SharedPatchPageProps {
  id: string
  /** What to do at once: `roll-out` opens its dialog. */
  act: string | undefined
  /** Called after that has been done. */
  onActed: () => void
}

/** The page of one shared patch. */
export function SharedPatchPage({ id, ...rest }: SharedPatchPageProps) {
  const answer = useQuery(sharedPatchQuery(id))
  const { data: patch, error, isRefetchError, dataUpdatedAt, refetch } = answer
  if (error instanceof CallError && error.status === 404)
    return (
      <NotFound
        noun="Shared patch"
        title={error.message}
        text="It never existed, or it was deleted."
        back={{ label: 'All shared patches', to: paths.sharedPatches() }}
      />
    )
  if (patch === undefined) return <Pending of={answer} rows={10} />
  return (
    <>
      {isRefetchError && <Stale at={dataUpdatedAt} error={error} onRetry={() => void refetch()} />}
      <Shown patch={patch} {...rest} />
    </>
  )
}

function Shown({ patch, act, onActed }: { patch: SharedPatch } & Omit<SharedPatchPageProps, 'id'>) {
  const inside = useQuery(patchServersQuery(patch.id))
  const servers = inside.data?.items
  const { data: clusters } = useQuery(everyCluster)
  const last = patch.last_operation
  const { data: operation } = useQuery({
    ...operationOne(last?.id ?? ''),
    enabled: last !== null,
    retry: false,
  })
  const held = servers?.filter(({ revision }) => revision !== null).length
  const actions = useMemo(() => {
    const remove = removeAction(patch, held, () => void navigate(paths.sharedPatches()))
    return { rollOut: rollOutAction(patch), edit: editAction(patch), remove }
  }, [patch, held])
  useCommands(
    `Act on ${patch.name}`,
    useMemo(() => [...Object.values(actions), undoAction(patch)], [actions, patch]),
  )
  const askAtOnce = useEffectEvent(() => {
    onActed()
    if (canRollOutSharedPatch(patch).ok) void rollOutDialog({ patch })
  })
  useEffect(() => {
    // After the frame has closed the dialogs of the page before.
    if (act === 'roll-out') queueMicrotask(() => askAtOnce())
  }, [act])
  const names = useMemo(
    () => ({
      clusters: new Map((clusters?.items ?? []).map(({ id, name }) => [id, name])),
      servers: new Map((servers ?? []).map(({ server: { id, name } }) => [id, name])),
    }),
    [clusters, servers],
  )
  const { tone, word } = patchSaid(patch)
  return (
    <>
      <PageHeader
        name={patch.name}
        status={<StatusDot tone={tone}>{word}</StatusDot>}
        actions={
          <>
            <ActionButton {...actions.rollOut} icon={undefined} kind="primary" />
            <ActionButton {...actions.edit} />
            <Menu
              label={`Actions for ${patch.name}`}
              items={[actions.remove]}
              trigger={<IconButton icon="more" label="More actions" />}
            />
          </>
        }
      >
        <Facts
          rows={[
            ['For', targetsSaid(patch.targets, names.clusters, names.servers) || 'No server'],
            [
              'Servers',
              <span key="s" className="num">
                {patch.servers.current} current, {patch.servers.behind} behind
              </span>,
            ],
            [
              'Weight',
              <span key="w" className="num">
                {patch.weight}
              </span>,
            ],
            [
              'Revision',
              <span key="r" className="num">
                {patch.revision}
              </span>,
            ],
            ['Last roll-out', <LastRollOut key="l" of={patch.last_roll_out} />],
            [
              'Changed',
              <span key="c">
                <Time at={patch.updated_at} /> <span className="t3">by {patch.updated_by}</span>
              </span>,
            ],
          ]}
        />
      </PageHeader>
      <div className={css['page']}>
        {operation !== undefined && operation.status !== 'done' && (
          <Progress operation={operation} />
        )}
        <UndoPanel patch={patch} operation={operation} />
        <div className={css['cols']}>
          <div className={css['servers']}>
            <SharedServers
              name={patch.name}
              servers={servers}
              operation={operation}
              answer={inside}
            />
          </div>
          <Body patch={patch} />
        </div>
      </div>
    </>
  )
}

/** The last roll-out, and the button that takes it back. */
function UndoPanel({ patch, operation }: { patch: SharedPatch; operation: Operation | undefined }) {
  const [busy, setBusy] = useState(false)
  const action = undoAction(patch)
  const changed =
    operation?.kind === 'sharedPatchRollOut'
      ? operation.steps.filter(({ status }) => status === 'done').length
      : null
  // A roll-out that was stopped by its canary has changed nothing.
  if (!canUndoSharedPatch(patch).ok || changed === 0) return null
  return (
    <Panel label="Last roll-out" className={css['undo']}>
      <p>
        <b>The last roll-out can be undone.</b> {undoSaid(changed)}
      </p>
      <ActionButton
        {...action}
        busy={busy}
        busyText="Undoing"
        run={async () => {
          setBusy(true)
          await action.run?.()
          setBusy(false)
        }}
      />
    </Panel>
  )
}

/** The body, and the variables that it uses. */
const Body = ({ patch }: { patch: SharedPatch }) => (
  <Panel flush title="Patch" note="Strategic merge, YAML" className={css['body']}>
    <div className={css['editor']}>
      <CodeEditor label="Patch body, YAML" value={patch.body} readOnly />
    </div>
    <footer className={css['foot']}>
      {patch.variables.length === 0 ? (
        <span className="t3">No variables: every server gets the same text.</span>
      ) : (
        <>
          <span className="t3">Filled in for each server:</span>
          {patch.variables.map((name) => (
            <Badge key={name} mono>{`{{${name}}}`}</Badge>
          ))}
        </>
      )}
    </footer>
  </Panel>
)
