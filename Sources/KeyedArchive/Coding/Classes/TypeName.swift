/// The name of a type without its module, as `String(describing:)` gives it.
///
/// `String(describing:)` first asks whether the type conforms to four protocols of text. It does not, and each answer costs a
/// search of all conformances in the program: some 200,000 instructions for each new type, which shows when a helper starts.
package func typeName(_ type: Any.Type) -> String { _typeName(type, qualified: false) }
