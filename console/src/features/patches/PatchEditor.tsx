import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { canChangePatch, type Patch, patchCreate, patchLimits, type PatchProblem, patchUpdate } from '#contract/patches.ts'
import { all } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { call, CallError } from '../../api/client.ts'
import { newKey, whyOf } from '../../api/http.ts'
import { allowed } from '../../api/session.ts'
import { useLeaveGuard } from '../../layout/use-leave-guard.ts'
import { paths } from '../../lib/paths.ts'
import { curlOf } from '../../lib/shell.ts'
import { useGo } from '../../lib/use-search.ts'
import { confirm } from '../../ui/actions.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { CodeEditor, type CodeEditorHandle } from '../../ui/inputs/CodeEditor.tsx'
import { Field, TextInput } from '../../ui/inputs/Field.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { Badge, StatusDot } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Notices, type Refusal } from './Notices.tsx'
import type { Newest } from './PatchPlace.tsx'
import { LabelsInput } from './LabelsInput.tsx'
import { bodyBytes, changes, commandOf, draftOf, emptyDraft, type FieldName, type PatchDraft, problemsOf, toSend, weightOf } from './patch-form.ts'
import { patchesQuery, refreshPatches } from './patch-queries.ts'
import css from './PatchEditor.module.css'
import type { PatchedServer } from './PatchesTable.tsx'
import { PreviewPanel } from './PreviewPanel.tsx'
import { useSchemaHelp } from './schema-help.ts'
import { usePatchDraft } from './use-patch-draft.ts'
import { usePreview } from './use-preview.ts'
import { savingQuestion } from './verdicts.ts'

const noProblems: readonly PatchProblem[] = []

/** Creates a patch (`patch` null), edits one, or shows one of the layers that Steelyard writes. The right side says live what it does. */
export function PatchEditor({ server, patch, newest }: { server: PatchedServer; patch: Patch | null; newest?: Newest }) {
  const client = useQueryClient()
  const go = useGo()
  const saved = useMemo(() => (patch === null ? emptyDraft : draftOf(patch)), [patch])
  const kept = usePatchDraft(`patch/${server.id}/${patch?.patch_id ?? 'new'}`, saved, patch?.version ?? null)
  const { draft, setDraft, dirty } = kept
  const readOnly = patch?.read_only ?? false
  const { data: layers } = useQuery(patchesQuery(server.id))
  const others = (layers?.items ?? []).filter((p) => p.patch_id !== patch?.patch_id).map((p) => p.name)
  const problems = problemsOf(draft, others)
  const blank = draft.body.trim() === ''
  const preview = usePreview(server.id, patch?.patch_id ?? null, draft, !readOnly && !blank)
  const [left, setLeft] = useState<ReadonlySet<FieldName>>(new Set())
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const attempt = useRef(newKey())
  const form = useRef<HTMLFormElement>(null)
  const editor = useRef<CodeEditorHandle>(null)
  const help = useSchemaHelp()

  useEffect(() => {
    if (patch === null) form.current?.querySelector('input')?.focus()
  }, [patch])
  const mayLeave = useLeaveGuard(dirty, 'patch')

  const errorOf = (field: FieldName): string | null => {
    const refused = refusal?.kind === 'failed' ? refusal.fields[field] : undefined
    return refused ?? (left.has(field) ? (problems[field] ?? null) : null)
  }
  const edit = (change: Partial<PatchDraft>) => {
    setRefusal(null)
    setDraft(change)
  }
  const leave = (field: FieldName) => setLeft((now) => new Set(now).add(field))

  const send = async (version: number | undefined) => {
    const id = server.id
    if (patch === null) {
      const made = await call(patchCreate, { params: { id }, body: toSend(draft) }, { key: attempt.current })
      if (made === undefined) throw new Error('')
      return
    }
    await call(patchUpdate, { params: { id, patchId: patch.patch_id }, body: changes(draft, patch) }, version === undefined ? {} : { version })
  }
  const save = async (version = patch?.version, asked = false) => {
    setLeft(new Set(['name', 'weight', 'labels', 'body']))
    if (busy || readOnly) return
    if (Object.keys(problems).length > 0) {
      if (problems.name ?? problems.weight ?? problems.labels) queueMicrotask(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus())
      else editor.current?.focus()
      return
    }
    const question = asked ? null : savingQuestion(server, preview.pending ? undefined : (preview.preview ?? undefined))
    if (question !== null && !(await confirm(question))) return
    setBusy(true)
    setRefusal(null)
    try {
      await send(version)
      mayLeave(true)
      await kept.settle()
      await refreshPatches(client)
      toast.success(patch === null ? `${draft.name} was created` : `${draft.name} was saved`)
      await go(paths.server(server.id))
    } catch (error) {
      mayLeave(false)
      if (error instanceof CallError && error.status === 412) setRefusal({ kind: 'stale' })
      else setRefusal({ kind: 'failed', message: whyOf(error), fields: error instanceof CallError ? error.fields : {} })
      // What is sent next is another request, and must not be answered with this one's answer.
      if (error instanceof CallError && error.status > 0 && error.status < 500) attempt.current = newKey()
    } finally {
      setBusy(false)
    }
  }
  const loadNewer = async () => {
    kept.discard()
    setRefusal(null)
    await newest?.takeNewest()
  }

  const operation = patch === null ? patchCreate : patchUpdate
  const may = patch === null ? allowed(patchCreate) : all(allowed(patchUpdate), canChangePatch(patch))
  const asCall = curlOf(operation, { id: server.id, patchId: patch?.patch_id ?? '' }, patch === null ? toSend(draft) : changes(draft, patch), {
    origin: location.origin,
    version: patch?.version,
  })
  const hides = patch !== null && !readOnly && !allowed({ scope: 'secrets:read' }).ok
  const weight = weightOf(draft.weight)
  // Rounded up: what is written is never 0.0.
  const kib = (Math.ceil(bodyBytes(draft.body) / 102.4) / 10).toFixed(1)
  const lineProblems = preview.of === draft.body ? (preview.preview?.errors ?? noProblems) : noProblems

  return (
    <>
      <h1 className="sr">
        {patch === null
          ? `Create a patch for ${server.name}`
          : readOnly
            ? `Patch ${patch.name} of ${server.name}`
            : `Edit patch ${patch.name} of ${server.name}`}
      </h1>
      <form
        ref={form}
        className={css['form']}
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <Field label="Name" error={errorOf('name')}>
          <TextInput
            value={draft.name}
            readOnly={readOnly}
            onValue={(name) => edit({ name })}
            onBlur={() => draft.name !== '' && leave('name')}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        </Field>
        <Field label="Weight" note={readOnly ? undefined : `${patchLimits.weight.min} to ${patchLimits.weight.max}`} error={errorOf('weight')}>
          <TextInput
            value={draft.weight}
            readOnly={readOnly}
            onValue={(text) => edit({ weight: text })}
            onBlur={() => leave('weight')}
            inputMode="numeric"
            className="num"
            autoComplete="off"
          />
        </Field>
        <Field label="Labels" optional={!readOnly} error={errorOf('labels')} className={css['labels']}>
          <LabelsInput labels={draft.labels} disabled={readOnly} onLabels={(labels) => edit({ labels })} />
        </Field>
        <div className={css['buttons']}>
          {readOnly ? (
            <Badge tone="line" icon="lock">
              Read only: Steelyard writes this layer itself
            </Badge>
          ) : (
            <>
              <Button kind="ghost" can={dirty ? undefined : { ok: false, reason: 'Nothing was changed' }} onClick={kept.discard}>
                Discard
              </Button>
              <AsCommand complete={Object.keys(problems).length === 0 && dirty} cli={commandOf(server.name, draft, patch)} api={asCall} />
              <Button kind="primary" type="submit" busy={busy} busyText="Loading" can={may}>
                {patch === null ? 'Create patch' : 'Save patch'}
              </Button>
            </>
          )}
        </div>
      </form>
      <Notices
        serverId={server.id}
        creating={patch === null}
        restored={dirty ? kept.restored : null}
        // While it is saved, the newer one is one's own.
        newer={!busy && (newest?.newer ?? false)}
        refusal={refusal}
        onDiscard={kept.discard}
        onNewest={() => void loadNewer()}
        onOverwrite={() => void save(undefined, true)}
      />
      <div className={cx(css['split'], readOnly && css['single'])}>
        <Panel flush className={css['panel']} title="Patch" note={hides ? 'What may be secret is hidden from your role' : 'Strategic merge, YAML'}>
          <div className={css['editor']}>
            <CodeEditor
              ref={editor}
              label="Patch body, YAML"
              value={draft.body}
              readOnly={readOnly}
              onValue={(body) => edit({ body })}
              problems={lineProblems}
              {...help.editor}
            />
          </div>
          <footer className={css['foot']}>
            {!readOnly && (
              <BodyState
                problem={left.has('body') ? problems.body : undefined}
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
            self={{ name: draft.name, weight: Number.isNaN(weight) ? patchLimits.weight.default : weight }}
            onGoTo={(line) => editor.current?.goTo(line)}
          />
        )}
      </div>
    </>
  )
}

/** Under the editor: what is wrong with the body, or that nothing is. */
function BodyState({
  problem,
  blank,
  count,
  warned,
  checking,
  versions,
}: {
  problem: string | undefined
  blank: boolean
  count: number
  /** How much saving would break. */
  warned: number
  checking: boolean
  versions: string
}) {
  const [tone, text] = ((): ['danger' | 'busy' | 'ok' | 'warn' | 'off', string] => {
    if (problem !== undefined) return ['danger', problem]
    if (blank) return ['off', 'Nothing written yet']
    if (count > 0) return ['danger', counted(count, 'problem')]
    if (checking) return ['busy', 'Checking']
    return warned > 0 ? ['warn', `Talos takes it, with ${counted(warned, 'warning')}`] : ['ok', `Valid for Talos ${versions}`]
  })()
  return (
    <StatusDot quiet tone={tone}>
      {text}
    </StatusDot>
  )
}
