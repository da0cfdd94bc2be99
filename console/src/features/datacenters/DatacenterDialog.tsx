import {
  type Datacenter,
  datacenterCreate,
  datacenterList,
  datacenterUpdate,
} from '#contract/datacenters.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { listOf } from '../../lib/text.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { countryName } from '../../ui/pictures/Flag.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { blank, changeOf, codePreview, readForm, type Typed, typedOf } from './datacenter-form.ts'
import css from './DatacentersPage.module.css'

const tiers = ['1', '2', '3', '4'].map((t) => ({ value: t, text: `Tier ${t}` }))
const { Text, Area, Choose } = fieldsFor<Typed>()

/**
 * Adds or edits a datacenter. Country and city form the code, so they can't be changed while the
 * datacenter is in use.
 */
export default function DatacenterDialog({ edit }: { edit: Datacenter | null }) {
  const { close } = useDialog()
  const inUse = edit !== null && edit.servers + edit.clusters + edit.subnets > 0
  const form = useForm({
    initial: edit ? typedOf(edit) : blank,
    read: readForm,
    send: (body, key) =>
      edit
        ? call(
            datacenterUpdate,
            { params: { id: edit.id }, body: changeOf(edit, body, inUse) },
            { version: edit.version },
          )
        : call(datacenterCreate, { body }, { key }),
    done: async ({ code }) => {
      await invalidate(datacenterList)
      toast.success(edit ? `${code} was changed` : `${code} was added`)
      close()
    },
  })
  const typed = form.values
  const code = codePreview(typed)
  const country = /^[A-Za-z]{2}$/.test(typed.country_code)
    ? countryName(typed.country_code.toUpperCase())
    : null
  const ofCode = (hint: string) => ({
    hint: inUse ? 'Fixed while the datacenter contains anything' : hint,
    readOnly: inUse,
    mono: true,
  })
  return (
    <FormDialog
      form={form}
      width="36rem"
      title={edit ? `Edit ${edit.code}` : 'Add datacenter'}
      submit={edit ? 'Save' : 'Add datacenter'}
      busyText="Saving"
      command={
        edit === null && (
          <AsCommand
            complete={form.read.ok}
            cli={commandOf(typed)}
            api={curlOf(datacenterCreate, {}, form.read.ok ? form.read.body : {})}
          />
        )
      }
    >
      <div className={css['three']}>
        <Text
          name="country_code"
          label="Country code"
          {...ofCode(country ?? 'ISO 3166, such as PL')}
          maxLength={2}
          autoCapitalize="characters"
        />
        <Text
          name="city_code"
          label="City code"
          {...ofCode('UN/LOCODE, such as POZ')}
          maxLength={3}
          autoCapitalize="characters"
        />
        <Text
          name="index"
          label="Index"
          optional={edit === null}
          {...ofCode('Leave empty for the next index in the city')}
          maxLength={3}
          inputMode="numeric"
        />
      </div>
      <p className="fs13 t2" aria-live="polite">
        {code === null ? (
          'The code is made from country and city.'
        ) : (
          <>
            Its code {inUse ? 'is' : 'will be'} <b className="strong">{code}</b>
            {code.endsWith('…') ? ', with the next number of the city.' : '.'}
          </>
        )}
      </p>
      <Text name="city_name" label="City" maxLength={64} spellCheck />
      <div className={css['pair']}>
        <Text
          name="facility"
          label="Facility"
          optional
          hint="The building, or who runs it"
          maxLength={50}
        />
        <Text name="address" label="Address" optional maxLength={200} />
        <Choose
          name="tier"
          label="Tier"
          hint="Declared by you; Steelyard does not check the tier"
          none="Unknown"
          options={tiers}
        />
        <Area
          name="certifications"
          label="Certifications"
          optional
          hint="Separated by lines or commas"
          rows={2}
        />
        <Text name="latitude" label="Latitude" optional inputMode="decimal" placeholder="52.41" />
        <Text name="longitude" label="Longitude" optional inputMode="decimal" placeholder="16.93" />
        <Text name="power_capacity_kw" label="Power" optional inputMode="decimal" unit="kW" />
        <Text name="rack_capacity" label="Racks" optional inputMode="numeric" />
      </div>
      <Area name="notes" label="Notes" optional rows={3} maxLength={2000} />
    </FormDialog>
  )
}

const commandOf = (typed: Typed): string =>
  cliOf(['datacenter', 'add'], {
    country: typed.country_code.toUpperCase(),
    'city-code': typed.city_code.toUpperCase(),
    city: typed.city_name,
    index: typed.index,
    facility: typed.facility,
    address: typed.address,
    tier: typed.tier,
    certification: listOf(typed.certifications),
    latitude: typed.latitude,
    longitude: typed.longitude,
    'power-kw': typed.power_capacity_kw,
    racks: typed.rack_capacity,
    notes: typed.notes,
  })
