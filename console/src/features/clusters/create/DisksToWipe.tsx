import { type DiskToConfirm } from '#contract/disks/disks.ts'
import { type ChosenDisks, diskHolding, diskName, disksToConfirm } from '#contract/disks/wipe.ts'
import { counted } from '#contract/words.ts'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { Icon } from '../../../ui/pictures/Icon.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Badge } from '../../../ui/feedback/Status.tsx'
import { keyOf } from './wiped.ts'
import css from './Steps.module.css'

/** A disk with its identifiers and content. */
const DiskToWipe = ({ one }: { one: DiskToConfirm }) => (
  <>
    <span>
      Wipe <b>{one.device}</b> of <b>{one.server}</b>:{' '}
      <b className="c-danger">{diskHolding(one)}</b>
    </span>
    <span className={css['about']}>{diskName(one.disk)}</span>
  </>
)

interface DiskChecksProps {
  disks: readonly DiskToConfirm[]
  ticked: ReadonlySet<string>
  onTick: (ticked: ReadonlySet<string>) => void
  text: string
}

/** A checkbox for each disk whose wipe needs a confirmation. */
export function DiskChecks({ disks, ticked, onTick, text }: DiskChecksProps) {
  const set = (key: string, on: boolean) =>
    onTick(new Set(on ? [...ticked, key] : [...ticked].filter((k) => k !== key)))
  return (
    <>
      <p className="fs13 t2">{text}</p>
      <ul className={css['checks']}>
        {disks.map((one) => {
          const key = keyOf(one)
          return (
            <li key={key}>
              {one.by === null ? (
                <>
                  <Icon name="alert" className="c-danger" />
                  <span>
                    <DiskToWipe one={one} />
                    <span className={css['about']}>
                      It has no unique WWID or serial, so it can't be confirmed: choose another
                      disk, or empty it first.
                    </span>
                  </span>
                </>
              ) : (
                <Checkbox
                  checked={ticked.has(key)}
                  onChange={(on) => set(key, on)}
                  label={<DiskToWipe one={one} />}
                />
              )}
            </li>
          )
        })}
      </ul>
    </>
  )
}

/**
 * Asks to confirm the wipe of disks with content and of removable disks. Renders nothing if there
 * are none.
 */
export function DisksToWipe({
  chosen,
  ...ticks
}: { chosen: readonly ChosenDisks[] } & Pick<
  Parameters<typeof DiskChecks>[0],
  'ticked' | 'onTick'
>) {
  const disks = disksToConfirm(chosen)
  if (disks.length === 0) return null
  return (
    <Panel
      className={css['wipe']}
      title="Disks to be wiped"
      note={<Badge tone="danger">{counted(disks.length, 'disk')}</Badge>}
    >
      <DiskChecks
        disks={disks}
        {...ticks}
        text="These disks have content, or may have. Confirm each one: its content is lost. The installation wipes the install disk; workload disks are wiped when their server leaves the cluster."
      />
    </Panel>
  )
}
