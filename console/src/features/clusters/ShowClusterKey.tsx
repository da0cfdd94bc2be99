import { useQueries, useQuery } from '@tanstack/react-query'
import { addressPattern, type Cluster, offerIdPattern } from '#contract/clusters/clusters.ts'
import { keptOf } from '#contract/clusters/existing.ts'
import { keptSentences } from '#contract/clusters/foreign-sentences.ts'
import { addressCommand, offerCreate, type OfferTool } from '#contract/marketplace/offers.ts'
import { counted } from '#contract/words.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { truncate } from '../../lib/text.ts'
import { moment } from '../../lib/time/time.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { ButtonLink } from '../../ui/inputs/Button.tsx'
import { Command, Copyable } from '../../ui/text/Copyable.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Flag } from '../../ui/pictures/Flag.tsx'
import { Icon } from '../../ui/pictures/Icon.tsx'
import { Pending } from '../../ui/feedback/PageStates.tsx'
import { StatusDot } from '../../ui/feedback/Status.tsx'
import { unrecorded } from '../../ui/text/unrecorded.ts'
import { clusterOne } from './cluster-queries.ts'
import { AccessState } from './offers/AccessState.tsx'
import { offerTool } from './offers/offer-queries.ts'
import css from './ShowClusterKey.module.css'

/**
 * Specified: with more than three clusters the list scrolls at 240 px; addresses are shortened to
 * their first 5 and last 4 characters.
 */
const clustersInSight = 3
const short = (value: string): string => truncate(value, 5, 4)

/** Specified texts for a missing address or offer. */
const words = {
  noAddress: 'List of assign servers',
  looking: 'Looking for Offers',
  notFound: "OfferID wasn't detected automatically. Please contact the provider team.",
}

/**
 * The modal `showClusterKey`: clusters with their addresses and offers, and the commands for them.
 * Only values in the valid format can be copied.
 */
export default function ShowClusterKey({ clusterIds }: { clusterIds: string[] }) {
  const { close } = useDialog()
  const answers = useQueries({ queries: clusterIds.map((id) => clusterOne(id)) })
  const tool = useQuery(offerTool)
  const scrolls = clusterIds.length > clustersInSight
  return (
    <Dialog
      title="List of newly generated clusters' addresses"
      footer={
        <>
          <span className="t3 fs13 grow">{counted(clusterIds.length, 'cluster')}</span>
          <ActionButton label="OK" kind="primary" run={() => close()} />
        </>
      }
    >
      {tool.data ? (
        <div className={css['update']}>
          <p>
            Use {tool.data.name} version <b className="num strong">{tool.data.version}</b> to update
            existing offers:
          </p>
          <Command
            command={tool.data.update_command}
            what="the command that updates existing offers"
          />
        </div>
      ) : (
        <Pending of={tool} boxed={false} rows={1} widths={[240]} />
      )}
      <ul
        className={scrolls ? `${css['list']} ${css['scrolls']}` : css['list']}
        aria-label="Clusters"
        {...(scrolls && { tabIndex: 0 })}
      >
        {answers.map((answer, i) => (
          <li key={clusterIds[i]}>
            {answer.data ? (
              <Entry cluster={answer.data} tool={tool.data} />
            ) : (
              <Pending of={answer} boxed={false} rows={1} widths={[120, 120]} />
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function Entry({ cluster: c, tool }: { cluster: Cluster; tool: OfferTool | undefined }) {
  // A link to the page that is open already doesn't close the dialog by itself.
  const { close } = useDialog()
  const leave = () => close()
  const chainAddress =
    c.chainAddress !== null && addressPattern.test(c.chainAddress) ? c.chainAddress : null
  const offerId = c.offerId !== null && offerIdPattern.test(c.offerId) ? c.offerId : null
  const kept = keptOf(c, 'cluster_key')
  const command = tool === undefined ? null : addressCommand(tool, { offerId, chainAddress })
  return (
    <>
      <div className="row">
        <a className="strong clip" href={paths.cluster(c.id)} onClick={leave}>
          {c.name}
        </a>
        <span className="row right t3 fs13">
          <Flag code={c.datacenter.country_code} />
          {c.datacenter.code}
        </span>
      </div>
      <dl className={css['pair']} {...unrecorded}>
        <div>
          <dt>NEW CLUSTER ADDRESS</dt>
          <dd>
            {kept !== null ? (
              <span className="t3">Kept key of others</span>
            ) : chainAddress === null ? (
              <a href={paths.servers({ cluster: c.name })} onClick={leave}>
                {words.noAddress}
              </a>
            ) : (
              <Copyable
                value={chainAddress}
                what={`address of ${c.name}`}
                shown={short(chainAddress)}
              />
            )}
          </dd>
        </div>
        <div>
          <dt>OFFERID TO UPDATE</dt>
          <dd>
            {offerId !== null ? (
              <Copyable value={offerId} what={`offer id of ${c.name}`} shown={short(offerId)} />
            ) : c.offer_detection === 'looking' ? (
              <StatusDot
                tone="busy"
                why={
                  c.offer_looking_since === null ? null : `since ${moment(c.offer_looking_since)}`
                }
                whole
              >
                {words.looking}
              </StatusDot>
            ) : (
              <StatusDot tone="off">None found</StatusDot>
            )}
          </dd>
        </div>
      </dl>
      {kept !== null && (
        <div className={css['missing']}>
          <Icon name="alert" />
          <span className="grow">{keptSentences.cluster_key(kept)}</span>
          <ButtonLink size="small" href={paths.cluster(c.id, 'keys')} onClick={leave}>
            Keys
          </ButtonLink>
        </div>
      )}
      {offerId === null && c.offer_detection !== 'looking' && (
        <div className={css['missing']}>
          <Icon name="alert" />
          <span className="grow">{words.notFound}</span>
          {allowed(offerCreate).ok && (
            <ButtonLink size="small" href={paths.cluster(c.id, 'keys')} onClick={leave}>
              Make an offer
            </ButtonLink>
          )}
        </div>
      )}
      {command !== null && offerId !== null && chainAddress !== null && (
        <div className={css['command']}>
          <Command
            command={command}
            shown={command
              .replaceAll(offerId, short(offerId))
              .replaceAll(chainAddress, short(chainAddress))}
            what={`the command that sets the access address of ${c.name}`}
          />
        </div>
      )}
      {offerId !== null && chainAddress !== null && (
        <div className={css['state']}>
          <AccessState cluster={c} offerId={offerId} chainAddress={chainAddress} />
        </div>
      )}
    </>
  )
}
