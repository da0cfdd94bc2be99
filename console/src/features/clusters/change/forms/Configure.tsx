import { Configure as ConfigureSchema } from '#contract/clusters/changes/configure.ts'
import { patchLimits } from '#contract/patches.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { listOf } from '../../../../lib/text.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { CodeEditor } from '../../../../ui/inputs/CodeEditor.tsx'
import { Problem } from '../../../../ui/feedback/Status.tsx'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { namedServers, ServersField } from '../ServerPick.tsx'
import css from '../Change.module.css'

interface Typed {
  name: string
  weight: string
  body: string
  /** Names of patches to remove. */
  remove: string
  /** Names of control planes that the change is to mend. */
  mends: string
  servers: readonly string[]
}
const { Text, Area } = fieldsFor<Typed>()

/**
 * Adds, replaces or removes a patch on servers of a running cluster, or takes back an earlier
 * change.
 */
export default function Configure({ cluster, server, takeBack }: ChangeFormProps) {
  const all = cluster.servers.map((s) => s.node_id)
  const read = ({ name, weight, body, remove, mends, servers }: Typed) => {
    const isBack = takeBack !== undefined
    const hasPatch = name !== '' || body.trim() !== ''
    return readBy(
      ConfigureSchema,
      {
        kind: 'configure',
        patches: hasPatch ? [{ name, weight: Number(weight), body }] : [],
        remove: listOf(remove),
        mends: listOf(mends),
        ...(isBack && { take_back: takeBack }),
        ...namedServers(cluster, servers),
      },
      {
        ...(!hasPatch &&
          !isBack &&
          remove === '' && { body: 'Enter a patch, or the name of a patch to remove' }),
        ...(hasPatch && name === '' && { name: 'Enter a name' }),
        ...(hasPatch && body.trim() === '' && { body: 'Enter a patch' }),
        ...(!/^\d{1,3}$/.test(weight) && { weight: 'Weight must be between 0 and 999' }),
        ...(servers.length === 0 && { servers: 'Choose at least one server' }),
      },
    )
  }
  return (
    <ChangeForm<Typed>
      cluster={cluster}
      kind="configure"
      initial={{
        name: '',
        weight: String(patchLimits.weight.default),
        body: '',
        remove: '',
        mends: '',
        servers: server === undefined ? all : [server],
      }}
      read={read}
      command={(change) =>
        change.kind === 'configure'
          ? cliOf(['cluster', 'configure', cluster.name], {
              patch: (change.patches ?? []).map((p) => `${p.name}=patch.yaml`),
              weight: change.patches?.[0]?.weight,
              remove: change.remove ?? [],
              'take-back': change.take_back,
              mends: change.mends ?? [],
              server: (change.node_ids ?? []).map(
                (id) => cluster.servers.find((s) => s.node_id === id)?.name ?? id,
              ),
            })
          : ''
      }
    >
      {(form) => {
        const { servers, body } = form.values
        return (
          <>
            {takeBack === undefined ? (
              <>
                <div className={css['fields']}>
                  <Text name="name" label="Name of the patch" autoCapitalize="none" />
                  <Text
                    name="weight"
                    label="Weight"
                    note={`${patchLimits.weight.min} to ${patchLimits.weight.max}`}
                    inputMode="numeric"
                  />
                </div>
                <div className={css['editor']}>
                  <CodeEditor
                    label="Patch, YAML"
                    value={body}
                    onValue={(to) => form.set({ body: to })}
                  />
                </div>
                <Problem text={form.errorOf('body')} />
                <Area
                  name="remove"
                  label="Patches to remove"
                  optional
                  hint="Names, one per line"
                  rows={2}
                  mono
                />
              </>
            ) : (
              <p className="fs13 t2">
                The patches of each server become again what they were before that change.
              </p>
            )}
            <Area
              name="mends"
              label="Control planes to mend"
              optional
              hint="Names, one per line: control planes that are not well and that this change mends. They are changed first"
              rows={2}
              mono
            />
            <ServersField
              cluster={cluster}
              chosen={servers}
              onChange={(to) => form.set({ servers: to })}
              error={form.errorOf('servers')}
            />
          </>
        )
      }}
    </ChangeForm>
  )
}
