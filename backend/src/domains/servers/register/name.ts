/** Generated names of new servers: `quiet-harbor-417`. */
import { nameLength } from '#contract/names.ts'

// Words have at most ten letters, so the longest possible name has 10 + 1 + 10 + 1 + 3 characters.
const adjectives =
  'able agile amber ample ancient autumn azure bold brave bright brisk broad bronze calm candid careful cheerful civil clean clear clever coastal cobalt cool copper coral crimson crisp curious daring dawn deep deft distant durable eager early earnest easy elder electric emerald even exact fair faithful fast fine firm fleet fond fresh frosty gentle giant glad golden grand great green happy hardy hearty hidden high honest humble humid ideal indigo iron ivory jade jolly just keen kind large late lawful level light lively local long loud loyal lucid lucky lunar magnetic major maroon mellow merry mighty mild misty modest narrow native neat nimble noble northern novel ochre open orange orderly patient plain pleasant polar polite precise proud prudent pure quick quiet rapid ready red regal rich robust rosy round royal russet rustic safe sandy scarlet sharp silent silver simple sincere sleek slender smooth snowy solar solid southern spare stable steady steep still stout strong sturdy subtle summer sunny sure swift tall tame teal tender tidy timely tranquil true trusty upper useful valiant vast velvet verdant vernal vivid warm watchful western white wide wild willing windy winter wise witty young zealous'.split(
    ' ',
  )
const nouns =
  'acorn alder anchor anvil arch aspen atlas badger basin beacon beech birch bison boulder bridge brook canyon cape cedar cliff cloud comet condor coral cove crane creek crest crow cypress dale dawn delta dune eagle elk ember falcon fern field finch fir fjord flint forest forge fox garden geyser glacier glade glen granite grove gulf gull hare harbor hawk hazel heath heron hill horizon inlet iris island ivy jetty juniper kestrel lagoon lake lantern larch ledge lichen lion loom lynx maple marlin marsh marten meadow mesa meteor mill moor moss mountain oak oasis ocean orchard osprey otter owl panther pass peak pebble pelican pine plain planet plateau plover pond poplar prairie quarry quartz rapids raven reed reef ridge river robin rook rowan sable saddle salmon seal shore sky slope sparrow spring spruce star stone storm strait stream summit swallow swan thicket thistle tide timber trail tundra valley vale walnut wave weaver whale willow wolf wren yarrow'.split(
    ' ',
  )

/** @param random in [0, 1) */
export function newName(random: () => number): string {
  const pick = (words: readonly string[]) => words[Math.floor(random() * words.length)]!
  const name = `${pick(adjectives)}-${pick(nouns)}-${String(Math.floor(random() * 1000)).padStart(3, '0')}`
  if (name.length > nameLength.max) throw new RangeError(`${name} is longer than ${nameLength.max}`)
  return name
}
