import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import {
  canChangePatch,
  type Patch,
  patchCreate,
  patchGet,
  patchLimits,
  type PatchProblem,
  patchUpdate,
} from '#contract/patches.ts'
import { all } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { messages } from '../../api/messages.ts'
import { withLosses } from '../../api/asking/losses.ts'
import { allowed } from '../../api/session.ts'
import { useDraft } from '../../api/use-draft.ts'
import { useLeaveGuard } from '../../layout/leave.ts'
import { paths } from '../../lib/paths.ts'
import { curlOf } from '../../lib/shell.ts'
import { navigate } from '../../lib/router.ts'
import { confirm } from '../../ui/actions.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { CodeEditor, type CodeEditorHandle } from '../../ui/inputs/CodeEditor.tsx'
import { LabelsInput } from '../../ui/inputs/LabelsInput.tsx'
import { fieldsFor, Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { Panel } from '../../ui/text/Panel.tsx'
import { Badge, StatusDot } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Notices } from './Notices.tsx'
import type { Newest } from './PatchPlace.tsx'
import {
  bodyBytes,
  changes,
  commandOf,
  Draft,
  draftOf,
  emptyDraft,
  type PatchDraft,
  readForm,
  textStays,
  toSend,
  weightOf,
  withoutMasked,
} from './patch-form.ts'
import { patchesQuery, refreshPatches } from './patch-queries.ts'
import css from './PatchEditor.module.css'
import type { PatchedServer } from './PatchesTable.tsx'
import { PreviewPanel } from './PreviewPanel.tsx'
import { usePreview, useSchemaHelp } from './use-editor.ts'
import { savingQuestion } from './verdicts.ts'

const { Text, Custom } = fieldsFor<PatchDraft>()
const noProblems: readonly PatchProblem[] = []

/**
 * Creates a patch (`patch` null), edits one, or shows a system layer. The right side is a live
 * preview.
 */
export function PatchEditor({
  server,
  patch,
  newest,
}: {
  server: PatchedServer
  patch: Patch | null
  newest?: Newest
}) {
  const saved = useMemo(() => (patch === null ? emptyDraft : draftOf(patch)), [patch])
  const readOnly = patch?.read_only ?? false
  const { data: layers } = useQuery(patchesQuery(server.id))
  const others = (layers?.items ?? [])
    .filter((p) => p.patch_id !== patch?.patch_id)
    .map((p) => p.name)
  const editor = useRef<CodeEditorHandle>(null)
  const overwrites = useRef(false)
  // A server without a cluster gets the Talos of the cluster that it joins.
  const help = useSchemaHelp(server.cluster === null ? null : server.talos.version)
  const form = useForm({
    initial: saved,
    read: (typed) => readForm(typed, others),
    ask: async () => {
      const question = overwrites.current
        ? null
        : savingQuestion(server, preview.pending ? undefined : (preview.preview ?? undefined))
      return question === null || confirm(question)
    },
    send: async (body, key) => {
      if (patch === null) {
        await withLosses((confirmed) =>
          call(
            patchCreate,
            { params: { id: server.id }, body: { ...body, ...confirmed } },
            // Another body needs another key.
            confirmed.confirmed_loss === undefined ? { key } : {},
          ),
        )
        return { isWhole: true }
      }
      const params = { id: server.id, patchId: patch.patch_id }
      // Compared with the newest version, so that what only somebody else has changed is sent too.
      const stored = overwrites.current ? await call(patchGet, { params }) : patch
      const differs = changes(draft, stored)
      const sent = overwrites.current ? withoutMasked(differs, patch) : differs
      await withLosses((confirmed) =>
        call(patchUpdate, { params, body: { ...sent, ...confirmed } }, { version: stored.version }),
      )
      return { isWhole: sent.body === differs.body }
    },
    done: async ({ isWhole }, { name }) => {
      mayLeave(true)
      await kept.settle()
      await refreshPatches()
      toast.success(
        patch === null
          ? `${name} was created`
          : isWhole
            ? `${name} was saved`
            : `${name} was saved. ${textStays}`,
      )
      await navigate(paths.server(server.id, 'patches'))
    },
    invalid: (fields) =>
      Object.keys(fields).every((field) => field === 'body') && editor.current?.focus(),
  })
  const { values: draft, set, dirty, busy, read } = form
  const kept = useDraft(
    form,
    `patch/${server.id}/${patch?.patch_id ?? 'new'}`,
    Draft,
    patch?.version ?? null,
  )
  const blank = draft.body.trim() === ''
  const preview = usePreview(server.id, patch?.patch_id ?? null, draft, !readOnly && !blank)
  const mayLeave = useLeaveGuard(dirty, 'patch')
  const loadNewer = async () => {
    kept.discard()
    await newest?.takeNewest()
  }

  const operation = patch === null ? patchCreate : patchUpdate
  const may =
    patch === null ? allowed(patchCreate) : all(allowed(patchUpdate), canChangePatch(patch))
  const asCall = curlOf(
    operation,
    { id: server.id, patchId: patch?.patch_id ?? '' },
    patch === null ? toSend(draft) : changes(draft, patch),
    {
      version: patch?.version,
    },
  )
  const hides = patch !== null && !readOnly && !allowed({ scope: 'secrets:read' }).ok
  const weight = weightOf(draft.weight)
  // Rounded up, so that a non-empty body is never 0.0.
  const kib = (Math.ceil(bodyBytes(draft.body) / 102.4) / 10).toFixed(1)
  const lineProblems =
    preview.of === draft.body ? (preview.preview?.errors ?? noProblems) : noProblems

  return (
    <>
      <h1 className="sr">
        {patch === null
          ? `Create a patch for ${server.name}`
          : readOnly
            ? `Patch ${patch.name} of ${server.name}`
            : `Edit patch ${patch.name} of ${server.name}`}
      </h1>
      <Form form={form} className={css['form']} focusFirst={patch === null}>
        <Text name="name" label="Name" readOnly={readOnly} autoCapitalize="none" />
        <Text
          name="weight"
          label="Weight"
          note={readOnly ? undefined : `${patchLimits.weight.min} to ${patchLimits.weight.max}`}
          readOnly={readOnly}
          inputMode="numeric"
          className="num"
        />
        <Custom name="labels" label="Labels" optional={!readOnly} fieldClass={css['labels']}>
          <LabelsInput
            labels={draft.labels}
            disabled={readOnly}
            onLabels={(labels) => set({ labels })}
          />
        </Custom>
        <div className={css['buttons']}>
          {readOnly ? (
            <Badge tone="line" icon="lock">
              Read only: Steelyard writes this layer itself
            </Badge>
          ) : (
            <>
              <ActionButton
                label="Discard"
                kind="ghost"
                can={dirty ? undefined : { ok: false, reason: 'Nothing was changed' }}
                run={kept.discard}
              />
              <AsCommand
                complete={read.ok && dirty}
                cli={commandOf(server.name, draft, patch)}
                api={asCall}
              />
              <Button kind="primary" type="submit" busy={busy} busyText="Loading" can={may}>
                {patch === null ? 'Create patch' : 'Save patch'}
              </Button>
            </>
          )}
        </div>
      </Form>
      <Notices
        notSaved={
          patch === null ? messages.patchNotCreated(server.id) : 'The patch could not be saved'
        }
        restored={kept.restored}
        // No notice during saving: the newer version is then the user's own.
        newer={!busy && (newest?.newer ?? false)}
        failure={form.failure}
        onDiscard={kept.discard}
        onNewest={() => void loadNewer()}
        onOverwrite={() => {
          overwrites.current = true
          void form.submit().finally(() => {
            overwrites.current = false
          })
        }}
      />
      <div className={cx(css['split'], readOnly && css['single'])}>
        <Panel
          flush
          className={css['panel']}
          title="Patch"
          note={
            hides ? 'Values that may be secret are hidden from your role' : 'Strategic merge, YAML'
          }
        >
          <div className={css['editor']}>
            <CodeEditor
              ref={editor}
              label="Patch body, YAML"
              value={draft.body}
              readOnly={readOnly}
              onValue={(body) => set({ body })}
              problems={lineProblems}
              {...help.editor}
            />
          </div>
          <footer className={css['foot']}>
            {!readOnly && (
              <BodyState
                problem={form.errorOf('body')}
                blank={blank}
                count={lineProblems.length}
                warned={preview.of === draft.body ? (preview.preview?.warnings.length ?? 0) : 0}
                checking={preview.pending || preview.preview === null}
                versions={help.versions}
              />
            )}
            <span className="t3 num right">
              {kib} of {patchLimits.bodyBytes / 1024} KiB
            </span>
          </footer>
        </Panel>
        {!readOnly && (
          <PreviewPanel
            state={preview}
            blank={blank}
            isJoined={server.cluster !== null}
            layers={layers?.items ?? []}
            self={{
              name: draft.name,
              weight: Number.isNaN(weight) ? patchLimits.weight.default : weight,
            }}
            onGoTo={(line) => editor.current?.goTo(line)}
          />
        )}
      </div>
    </>
  )
}

interface BodyStateProps {
  problem: string | undefined
  blank: boolean
  count: number
  /** Number of warnings. */
  warned: number
  checking: boolean
  versions: string
}

/** Below the editor: problems of the body, or that there are none. */
function BodyState({ problem, blank, count, warned, checking, versions }: BodyStateProps) {
  const [tone, text] = ((): ['danger' | 'busy' | 'ok' | 'warn' | 'off', string] => {
    if (problem !== undefined) return ['danger', problem]
    if (blank) return ['off', 'Nothing written yet']
    if (count > 0) return ['danger', counted(count, 'problem')]
    if (checking) return ['busy', 'Checking']
    return warned > 0
      ? ['warn', `Talos accepts it, with ${counted(warned, 'warning')}`]
      : ['ok', `Valid for Talos ${versions}`]
  })()
  return (
    <StatusDot quiet tone={tone}>
      {text}
    </StatusDot>
  )
}
