import { useMemo } from 'react'
import { declaredRuns } from '#contract/network/address-map.ts'
import { counted } from '#contract/words.ts'
import { amount } from '../../../ui/pictures/address-grid.ts'
import { AddressMap } from '../../../ui/pictures/AddressMap.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { pieceText, spaceOf, type SubnetDraft, textOf } from './subnet-form.ts'
import css from './SubnetForm.module.css'

/**
 * Maximum number of listed pieces (ranges of assignable addresses). Further pieces are only
 * counted.
 */
const most = 40
/** Scrollable boxes must be focusable (WCAG 2.1.1). */
const reachable = { tabIndex: 0 }

/** Live summary of the typed address space: number of addresses, pieces, and a map. */
export function SpacePanel({ draft }: { draft: SubnetDraft }) {
  const { cidr, gateway, exclude, first_and_last } = draft
  const space = useMemo(() => spaceOf(draft), [draft])
  // The map re-renders only when the space changes, not with each letter of the name.
  const picture = useMemo(
    () =>
      declaredRuns(
        textOf({
          cidr,
          gateway,
          exclude,
          first_and_last,
          vlan_id: '',
          name: '',
          datacenter_id: '',
          purpose: 'workload',
        }),
      ),
    [cidr, gateway, exclude, first_and_last],
  )
  return (
    <aside className={css['space']} aria-label="The space">
      <Panel title="The space" note={space?.type}>
        {space === null || picture === null ? (
          <p className="fs13 t2">
            The number of addresses and a map appear here when CIDR, gateway and exclusions are
            valid.
          </p>
        ) : (
          <div className="stack">
            <div aria-live="polite">
              <span className={css['big']}>{amount(space.total)}</span>{' '}
              <span className="t2">usable {space.total === 1n ? 'address' : 'addresses'}</span>
            </div>
            <div>
              <h3 className="label">{counted(space.pieces.length, 'piece')}</h3>
              <ul className={css['pieces']} aria-label="Pieces" {...reachable}>
                {space.pieces.slice(0, most).map((piece) => (
                  <li key={pieceText(piece)} className="mono">
                    {pieceText(piece)}
                  </li>
                ))}
                {space.pieces.length > most && (
                  <li className="t3">and {space.pieces.length - most} more</li>
                )}
              </ul>
            </div>
            <AddressMap
              alone
              label={`Addresses of ${cidr}`}
              cidr={picture.cidr}
              runs={picture.runs}
            />
          </div>
        )}
      </Panel>
      {space !== null && space.warnings.length > 0 && (
        <div className={css['warnings']}>
          {space.warnings.map((warning) => (
            <Alert key={warning} tone="warn">
              {warning}
            </Alert>
          ))}
        </div>
      )}
    </aside>
  )
}
