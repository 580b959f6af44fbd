// Choices: what is recommended, when two recommendations are the same choice, and names in sentences.

let reportedChoice = null;

/** The current recommendation. */
function choiceNow() {
  const { best, unaided, namesModel, verdict } = result;
  return namesModel ? best.name : verdict.keep ?? unaided.name;
}

/**
 * The names of a choice when decisions are made anew. If the prior of the report is that for which the
 * posteriors hold, only another prior has posteriors that are moved to it: “as is” and “moved” are then
 * one choice.
 */
const namesOfChoice = memoized((name) => {
  const system = SYSTEMS.find((other) => other.name === name);
  const isTwin = (other) =>
    other.model === system.model && (system.added ? other.way === "as is" : system.way === "as is" && other.added);
  const twin = system && SYSTEMS.find(isTwin);
  return twin ? [name, twin.name] : [name];
});

/** Whether two recommendations are the same choice, decided anew. */
const isSameChoice = (first, second) => namesOfChoice(first).includes(second);

/** The model of a system, by their names. */
const modelOf = (name) => {
  const system = SYSTEMS.find((other) => other.name === name);
  return system ? MODELS[system.model].name : name;
};

/**
 * Names of models joined by “or”; the full name of the system if there is only one. Another rule of
 * the model that is the choice now has its full name, too.
 */
function inWords(names, choice = null) {
  const nameOf = (name) => (choice !== null && modelOf(name) === modelOf(choice) ? name : modelOf(name));
  const models = [...new Set(names.map(nameOf))];
  const shown = models.length === 1 && names.length === 1 ? names : models;
  const listed = shown.length > MOST_LISTED ? fewOf(shown, nameOf(choice ?? choiceNow())) : shown;
  return listed.length > 1 ? `${listed.slice(0, -1).join(", ")} or ${listed[listed.length - 1]}` : listed[0];
}

const MOST_LISTED = 5; // models that a sentence names

/** Many names in few: today's choice if it is one of them, how many other models, and constant decisions. */
function fewOf(names, choice) {
  const isConstant = (name) => name.startsWith("always ") && !MODELS.some((model) => model.name === name);
  const [models, constants] = [names.filter((name) => !isConstant(name)), names.filter(isConstant)];
  const counted = (some, most, kind) =>
    some.length > most + 1 ? [...some.slice(0, most), `${some.length - most} other ${kind}`] : some;
  const choiceFirst = [...models].sort((a, b) => Number(b === choice) - Number(a === choice));
  return [...counted(choiceFirst, constants.length ? 1 : 3, "models"), ...counted(constants, 2, "constant decisions")];
}

/** Names in the order of the report, so that equal sets read the same. */
const inOrder = (names) => {
  const indexOf = (name) => SYSTEMS.findIndex((system) => system.name === name);
  const unknownLast = (name) => (indexOf(name) < 0 ? SYSTEMS.length : indexOf(name));
  return [...names].sort((a, b) => unknownLast(a) - unknownLast(b));
};
