import { Segmented } from '../../ui/inputs/Segmented.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { bondWithVlan, type EarlyDraft, reaches, reachNames } from './early-form.ts'
import css from './PrepareImage.module.css'

const { Area, Text } = fieldsFor<EarlyDraft>()

interface EarlyFieldsProps {
  draft: EarlyDraft
  onChange: (patch: Partial<EarlyDraft>) => void
  /** Address of the image factory, which keeps what is entered here. */
  factory: string | undefined
}

/** How the servers reach Steelyard: what is written into the image for it. */
export function EarlyFields({ draft, onChange, factory }: EarlyFieldsProps) {
  return (
    <Panel title="How do these servers reach Steelyard?">
      <div className="stack">
        <div className={css['choose']}>
          <Segmented
            size="medium"
            label="How do these servers reach Steelyard?"
            value={draft.reach}
            options={reaches.map((value) => ({ value, text: reachNames[value] }))}
            onChange={(reach) =>
              onChange({
                reach,
                ...(reach === 'documents' && draft.documents === '' && { documents: bondWithVlan }),
              })
            }
          />
        </div>
        {draft.reach === 'static' && (
          <Area
            name="addresses"
            label="Addresses"
            hint="A line for each server: MAC address, address with the length of its network, gateway."
            placeholder="00:1a:2b:3c:4d:5e 10.0.0.5/24 10.0.0.1"
            mono
            rows={5}
            autoCapitalize="none"
          />
        )}
        {draft.reach === 'documents' && (
          <Area
            name="documents"
            label="Talos documents of the network"
            hint="BondConfig, VLANConfig, LinkConfig, DHCPv4Config and others. They hold for every server that boots the image."
            mono
            rows={12}
            autoCapitalize="none"
          />
        )}
        {draft.reach !== 'dhcp' && (
          <Text name="nameServers" label="Name servers" optional placeholder="10.0.0.1" mono />
        )}
        <Area
          name="trustedRoots"
          label="Authority of your own"
          optional
          hint="Certificates in PEM that the servers trust, if Steelyard or the registries have certificates of an authority of your own."
          mono
          rows={3}
          autoCapitalize="none"
        />
        <div className={css['fields']}>
          <Text
            name="timeServers"
            label="Time servers"
            optional
            placeholder="ntp.example.com"
            mono
          />
          <Area
            name="mirrors"
            label="Registry mirrors"
            optional
            hint="One per line."
            placeholder="ghcr.io=https://registry.example.com"
            mono
            rows={2}
            autoCapitalize="none"
          />
        </div>
        <p className="fs13 t2">
          This is written into the image, and kept by the image factory
          {factory === undefined ? '' : ` at ${factory}`}: enter nothing secret.
        </p>
      </div>
    </Panel>
  )
}
